"""How likely a finished language model finds replies: given what was said before, and given nothing (torch)."""

from collections.abc import Callable, Iterator, Sequence
from dataclasses import replace
from itertools import groupby
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from heartfelt.dialogue import LISTENER, SPEAKER, Dialogue, Turn
from heartfelt.errors import need
from heartfelt.models.precision import precision
from heartfelt.retrieval.reading import open_reader

Pairs = Sequence[tuple[Sequence[Turn], str]]
_LONGEST = 256  # tokens of context
_LONGEST_REPLY = 100
_SIDE_BY_SIDE = 16  # replies


class LikelihoodRun:
    """Replies to one context follow one another in `pairs`: it is read once for all of them."""

    names = ("given", "alone", "tokens")  # log-likelihoods in nats, and how many tokens they sum over

    def __init__(self, folder: Path) -> None:
        self._reader = open_reader(folder, ("listener_lm",), "say how likely a reply is")
        from heartfelt.models.backbone import merge_adapters

        encoder = self._reader.model.encoder
        merge_adapters(encoder)
        # Words are weighed in fp32 all the same: rounded, the sum over a reply would be a fifth of a nat off.
        self._vocabulary = encoder.get_input_embeddings().weight.detach().clone()
        if precision() == "bf16":
            encoder.bfloat16()
        self._alone: dict[str, float] = {}

    def read(self, pairs: Pairs, step: Callable[[str], None] = lambda _: None) -> NDArray[np.float32]:
        """(pairs, 3)"""
        self._read_alone({reply for _, reply in pairs} - self._alone.keys(), step)
        found: list[tuple[float, float, float]] = []
        for turns, replies in _by_context(pairs):
            given, tokens = self._nats(turns, replies)
            found += [(g, self._alone[r], float(n)) for g, r, n in zip(given, replies, tokens, strict=True)]
            step(f"{len(found):,} of {len(pairs):,}")
        return np.array(found, np.float32).reshape(-1, 3)

    def _read_alone(self, replies: set[str], step: Callable[[str], None]) -> None:
        """Replies of like length side by side, after nothing."""
        order = sorted(replies, key=lambda reply: (len(reply), reply))
        for start in range(0, len(order), _SIDE_BY_SIDE):
            part = order[start : start + _SIDE_BY_SIDE]
            self._alone |= zip(part, self._nats((), part)[0], strict=True)
            step(f"{start + len(part):,} of {len(order):,} replies by themselves")

    def _nats(self, turns: Sequence[Turn], replies: Sequence[str]) -> tuple[list[float], list[int]]:
        """Of each reply, the sum over its tokens: what was said is read once, the replies side by side after it."""
        torch = need("torch", "train", "A run folder")
        _, settings, tokenizer, model = self._reader
        cut = [_split(settings, tokenizer, turns, reply) for reply in replies]
        before = cut[0][0][-_LONGEST:]
        after = [ids[:_LONGEST_REPLY] for _, ids in cut]
        longest = max(map(len, after))
        ids = torch.tensor([row + [0] * (longest - len(row)) for row in after])
        counts = torch.arange(longest) < torch.tensor([[len(row)] for row in after])  # (replies, tokens)
        with torch.no_grad():
            read = model.encoder(input_ids=torch.tensor([before]), use_cache=True)
            kept = read.past_key_values
            kept.batch_repeat_interleave(len(after))
            # What is padded comes last, and no token looks ahead. A reply has its end mark: two tokens at least.
            rest = model.encoder(input_ids=ids[:, :-1], past_key_values=kept).last_hidden_state
            first = read.last_hidden_state[:, -1:].expand(len(after), -1, -1)
            states = torch.cat([first, rest], 1)
            logits = torch.nn.functional.linear(states[counts].float(), self._vocabulary)
            nats = torch.zeros(counts.shape)
            nats[counts] = -torch.nn.functional.cross_entropy(logits, ids[counts], reduction="none")
        return nats.sum(1).tolist(), [len(row) for row in after]


def _by_context(pairs: Pairs) -> Iterator[tuple[tuple[Turn, ...], list[str]]]:
    for turns, same in groupby(pairs, key=lambda pair: tuple(pair[0])):
        yield turns, [reply for _, reply in same]


def _split(settings: Any, tokenizer: Any, turns: Sequence[Turn], reply: str) -> tuple[list[int], list[int]]:
    """The tokens before a reply and those of it, as the model learned to see them; nothing tells how one feels."""
    from heartfelt.models.listener_lm import REPLY, encode_dialogue

    roles = [Turn(SPEAKER if (len(turns) - i) % 2 else LISTENER, turn.text) for i, turn in enumerate(turns)]
    dialogue = Dialogue("asked", (*roles, Turn(LISTENER, reply)))
    whole = replace(settings, max_tokens=1_000_000)
    tokens = encode_dialogue(whole, tokenizer, dialogue, [len(roles)], lambda *_: (None, None))
    start = tokens["purpose"].index(REPLY)
    end = len(tokens["purpose"]) - tokens["purpose"][::-1].index(REPLY)
    return tokens["input_ids"][:start], tokens["input_ids"][start:end]
