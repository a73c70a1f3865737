"""A finished run of a model that writes replies (heartfelt.models.GENERATORS): in a talk, or over a whole corpus."""

from collections.abc import Callable, Iterator, Sequence
from pathlib import Path
from threading import Lock
from typing import Any, NamedTuple

import msgspec

from heartfelt.agent.generator import Decoding, Wish
from heartfelt.agent.listen import Listener, shipped
from heartfelt.agent.run_folder import as_transformers
from heartfelt.dialogue import Candidate, Dialogue, Turn
from heartfelt.errors import need
from heartfelt.models import GENERATORS, module_of
from heartfelt.models.prepend import prepender
from heartfelt.recipe import load as load_recipe
from heartfelt.retrieval.reading import open_reader
from heartfelt.text import detokenized

BATCH = 32  # contexts that are answered at once


class Asked(NamedTuple):
    """A context, what the reply to it should do, and the reply where it is known."""

    context: Sequence[Turn]
    plan: str | None = None
    reply: str = ""


class Scored(NamedTuple):
    """How likely a known reply is, and what the model's heads say of the context."""

    log_likelihood: float
    tokens: int
    emotion: dict[str, float]


class AnswererRun:
    languages = ("en",)

    def __init__(self, folder: Path, listener: Listener | None = None) -> None:
        """listener: says what turns express, for a model that reads that, where nobody has said it yet."""
        self._torch = need("torch", "train", "A run folder")
        reader = open_reader(folder, GENERATORS, "write replies")
        self._recipe, self._settings, self._tokenizer, self._model = reader
        self._module = module_of(self._recipe.model)
        self._listener = listener
        self._one_at_a_time = Lock()
        prepend = self._recipe.prepend
        self._label = prepender(folder / "prepend", prepend.labels) if prepend else None
        labels = folder / "labels.json"
        heads = msgspec.json.decode(labels.read_bytes()) if labels.is_file() else {}
        self._emotions: list[str] = heads.get("emotion", [])
        words = type(self._tokenizer.backend_tokenizer.model).__name__ == "WordLevel"
        self._of_words = words and not hasattr(self._tokenizer, "cut_turns")  # which restores what it decodes
        ends = self._model.generation_config.eos_token_id
        self._unsaid = [
            one for one in self._tokenizer.all_special_ids if one != ends
        ]  # <unk> is no word to say
        self._known = self._reads_concepts()
        self.name = folder.resolve().name

    def say(self, dialogue: Dialogue, wish: Wish, count: int, decoding: Decoding) -> list[Candidate]:
        return next(self.write([Asked(dialogue.turns, wish.plan)], decoding, count))[1]

    def stream(self, dialogue: Dialogue, wish: Wish, heard: Callable[[str], None], decoding: Decoding) -> str:
        text = self.say(dialogue, wish, 1, decoding)[0].text
        heard(text)
        return text

    def write(
        self, asked: Sequence[Asked], decoding: Decoding, count: int = 1
    ) -> Iterator[tuple[int, list[Candidate]]]:
        """Which one, and so many replies to it, the likeliest first; like lengths together, the longest first."""
        torch = self._torch
        for places, batch in self._batches(asked):
            with self._one_at_a_time, torch.no_grad():  # the seed is the whole process's
                if decoding.seed is not None:
                    torch.manual_seed(decoding.seed)
                read = self._read(batch)
                said = self._model.generate(
                    encoder_outputs=read, attention_mask=read.mask, suppress_tokens=self._unsaid,
                    **as_transformers(decoding, count),
                )  # fmt: skip
                given = len(said) // len(places)
                candidates = self._candidates(batch, said, given)
            for row, place in enumerate(places):
                found = candidates[row * given : (row + 1) * given]
                yield place, sorted(found, key=lambda one: -one.scores["likelihood"])

    def score(self, asked: Sequence[Asked]) -> Iterator[tuple[int, Scored]]:
        """Which one, and how likely its known reply is."""
        for places, batch in self._batches(asked):
            with self._torch.no_grad():
                found = self._model(**batch)["logits"]
            tokens = batch["reply_mask"].sum(1) - 1
            chances = found[:, 1 : 1 + len(self._emotions)].softmax(-1).tolist()
            for row, place in enumerate(places):
                felt = dict(zip(self._emotions, chances[row], strict=False))
                yield place, Scored(-float(found[row, 0]), int(tokens[row]), felt)

    def _batches(self, asked: Sequence[Asked]) -> Iterator[tuple[list[int], dict[str, Any]]]:
        from heartfelt.models.answerer import encode_pair, in_batch

        labels = self._prepended(asked)
        examples = [
            encode_pair(
                self._module, self._settings, self._tokenizer, self._labelled(one.context), one.reply, label,
                one.plan if getattr(self._settings, "labelled", False) else None,
                self._known(one.context) if self._known else "",
            )
            for one, label in zip(asked, labels, strict=True)
        ]  # fmt: skip
        order = sorted(range(len(asked)), key=lambda i: -len(examples[i]["input_ids"]))
        for start in range(0, len(order), BATCH):
            places = order[start : start + BATCH]
            pad = int(self._tokenizer.pad_token_id or 0)
            yield places, in_batch([examples[i] for i in places], pad)

    def _read(self, batch: dict[str, Any]) -> Any:
        return self._model.read(**{k: v for k, v in batch.items() if k not in ("reply_ids", "reply_mask")})

    def _candidates(self, batch: dict[str, Any], said: Any, each: int) -> list[Candidate]:
        """Replies as texts, each with its mean log-likelihood a token."""
        end = self._model.generation_config.eos_token_id
        ends = said == end
        ends[:, 0] = False  # what begins a reply may be the same token
        ended = ends.int().cumsum(1)
        mask = ((ended == 0) | ((ended == 1) & ends)).long()  # up to the first end
        again = {name: tensor.repeat_interleave(each, 0) for name, tensor in batch.items()}
        nats = self._model.nats(self._read(again), said, mask)
        found = []
        for row, (ids, kept) in enumerate(zip(said, mask, strict=True)):
            text = self._tokenizer.decode(ids[kept == 1], skip_special_tokens=True)
            words = detokenized(text) if self._of_words else text
            found.append(
                Candidate(words.strip(), {"likelihood": -float(nats[row]) / max(1, int(kept.sum()) - 1)})
            )
        return found

    def _reads_concepts(self) -> Callable[[Sequence[Turn]], str] | None:
        if not getattr(self._settings, "concepts", 0):
            return None
        from heartfelt.agent.know import Known

        return Known(Path(self._recipe.concepts))

    def _prepended(self, asked: Sequence[Asked]) -> list[str]:
        if self._label is None:
            return [""] * len(asked)
        window = self._settings.window
        return self._label([" ".join(turn.text for turn in one.context[-window:]) for one in asked])

    def _labelled(self, turns: Sequence[Turn]) -> Sequence[Turn]:
        """For a model that reads what each turn expresses: what nobody has said yet, the listener says."""
        silent = [turn.text for turn in turns if turn.label is None]
        if not getattr(self._settings, "labelled", False) or not silent:
            return turns
        listener = self._listener or shipped()
        rows = listener.labels(silent)
        named = {text: max(row, key=lambda label: row[label]) for text, row in zip(silent, rows, strict=True)}
        return [turn if turn.label else Turn(turn.speaker, turn.text, named[turn.text]) for turn in turns]


def writes(folder: Path) -> bool:
    """Is this a run of a model that writes replies?"""
    path = folder / "recipe.yaml"
    return path.is_file() and load_recipe(path).model in GENERATORS
