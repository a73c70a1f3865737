"""A language model as recogniser: how likely each emotion is as the first part of the prefix that it would write.

A prefix carries loss in training (joint training, as in liu2021 and joint2021), so the one model also recognises.
"""

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np
import torch
from numpy.typing import NDArray
from transformers import PreTrainedTokenizerBase as Tokenizer

from heartfelt.dialogue import LISTENER, SPEAKER, Dialogue, Turn
from heartfelt.models import listener_lm
from heartfelt.models.backbone import saved_tokenizer
from heartfelt.models.listener_lm import ListenerLM
from heartfelt.models.prompt import prefix, prompt
from heartfelt.recipe import fill
from heartfelt.training.batches import padded
from heartfelt.training.run import Run
from heartfelt.training.tasks import Item

BATCH = 32
_RARE = 0.01  # names that begin alike and together are rarer than this share it evenly


def emotions(
    run: Run, names: Sequence[str], items: Sequence[Item], step: Callable[[str], None]
) -> NDArray[Any]:
    """(items, names): logarithms of chances."""
    settings, _ = fill(listener_lm.Settings, run.recipe.settings)
    tokenizer = saved_tokenizer(run.folder / "model")
    model = listener_lm.load(run.folder / "model").eval()
    starts = [start_of_prefix(item, tokenizer)[-settings.max_tokens :] for item in items]  # type: ignore[union-attr]
    return chances_of(model, starts, spelled(tokenizer, names), step)


def start_of_prefix(item: Item, tokenizer: Tokenizer) -> list[int]:
    """A context as tokens, up to where the emotion is named. Where the task does not tell who speaks, it is by turns,
    the speaker last; earlier prefixes are open, as nobody has named anything yet."""
    last = len(item.turns) - 1
    roles = item.speakers or tuple(SPEAKER if (last - i) % 2 == 0 else LISTENER for i in range(last + 1))
    turns = tuple(Turn(role, text) for role, text in zip(roles, item.turns, strict=True))
    written = prompt(Dialogue(item.id, turns), None, None).removesuffix(prefix(None, None)) + "["
    return list(tokenizer(written, add_special_tokens=False)["input_ids"])


def spelled(tokenizer: Tokenizer, names: Sequence[str]) -> list[list[int]]:
    """Each name as it stands in a prefix: the tokens after its bracket."""
    bracket = len(tokenizer("[", add_special_tokens=False)["input_ids"])
    found = []
    for name in names:
        whole = tokenizer(prefix(name, None), return_offsets_mapping=True, add_special_tokens=False)
        ends = [i for i, (_, end) in enumerate(whole["offset_mapping"]) if end <= 1 + len(name)]
        found.append(whole["input_ids"][bracket : ends[-1] + 1])
    return found


def chances_of(
    model: ListenerLM,
    starts: Sequence[list[int]],
    names: Sequence[list[int]],
    step: Callable[[str], None] = lambda _: None,
    said: tuple[int, ...] = (),
) -> NDArray[Any]:
    """(starts, names): logarithms of how likely each name comes next; token by token only where names begin alike."""
    place = len(said)
    nexts = sorted({name[place] for name in names})
    by_token = np.log(
        np.maximum(_next_chances(model, [[*start, *said] for start in starts], nexts, step), 1e-12)
    )
    found = np.empty((len(starts), len(names)))
    for token in nexts:
        alike = [i for i, name in enumerate(names) if name[place] == token]
        column = by_token[:, nexts.index(token)]
        found[:, alike] = (column - np.log(len(alike)))[:, None]
        if len(alike) > 1:
            likely = [i for i, chance in enumerate(np.exp(column)) if chance > _RARE]
            if likely:
                inner = chances_of(
                    model, [starts[i] for i in likely], [names[i] for i in alike], step, (*said, token)
                )
                found[np.array(likely)[:, None], alike] = column[likely][:, None] + inner
    return found


def _next_chances(
    model: ListenerLM, texts: Sequence[list[int]], tokens: Sequence[int], step: Callable[[str], None]
) -> NDArray[Any]:
    """(texts, tokens): which of these tokens comes next, given that one of them does."""
    order = sorted(range(len(texts)), key=lambda i: -len(texts[i]))
    found = np.empty((len(texts), len(tokens)))
    words: Any = model.encoder.get_input_embeddings().weight
    for begin in range(0, len(order), BATCH):
        chosen = order[begin : begin + BATCH]
        batch = padded([{"input_ids": texts[i]} for i in chosen], pad_id=0)
        with torch.no_grad():
            states = model.encoder(**batch).last_hidden_state
            last = states[torch.arange(len(chosen)), batch["attention_mask"].sum(1) - 1]
            logits = last @ words[torch.tensor(list(tokens))].T
        found[chosen] = torch.softmax(logits.double(), -1).numpy()
        step(f"{begin + len(chosen):,} of {len(order):,}")
    return found
