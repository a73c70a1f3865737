"""Finished runs that read a context and a reply together, and put a shortlist in order (torch)."""

import json
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any, Protocol

import numpy as np

from heartfelt.dialogue import Turn
from heartfelt.errors import BadData, InvalidValue, MissingData, UnknownName, need
from heartfelt.models import MATCHERS, RERANKERS
from heartfelt.recipe import fill
from heartfelt.recipe import load as load_recipe
from heartfelt.retrieval.embedder import MatcherRun, Vectors
from heartfelt.retrieval.likelihood import LikelihoodRun
from heartfelt.retrieval.reading import in_batches, open_reader

Pairs = Sequence[tuple[Sequence[Turn], str]]  # contexts and replies
Step = Callable[[str], None]
WEIGHTS = "model/weights.json"  # of a jury: what each number of each reader counts


class Reranker(Protocol):
    name: str

    def __call__(self, pairs: Pairs, step: Step = lambda _: None) -> Vectors:
        """(pairs,) how well each reply fits its context; only those of one context can be compared."""


class Reader(Protocol):
    """One of a jury: some numbers of each pair."""

    @property
    def names(self) -> tuple[str, ...]:
        """What its numbers are."""

    def read(self, pairs: Pairs, step: Step = lambda _: None) -> Vectors:
        """(pairs, names)"""


def open_reranker(folder: Path) -> Reranker:
    model = _model_of(folder)
    if model not in RERANKERS:
        raise InvalidValue(f"{folder} ({model}) does not re-rank: take a run of {' or '.join(RERANKERS)}")
    kinds: dict[str, Callable[[Path], Reranker]] = {"jury": JuryRun, "late_matcher": LateRun}
    return kinds.get(model, CrossRun)(folder)


class CrossRun:
    names = ("fit",)

    def __init__(self, folder: Path) -> None:
        self._reader = open_reader(folder, ("cross_encoder",), "re-rank")
        from heartfelt.models.backbone import merge_adapters

        merge_adapters(self._reader.model)
        self.name = folder.resolve().name

    def __call__(self, pairs: Pairs, step: Step = lambda _: None) -> Vectors:
        from heartfelt.models.cross_encoder import encode_pair

        _, settings, tokenizer, model = self._reader
        ids = [encode_pair(settings, tokenizer, turns, reply) for turns, reply in pairs]
        return in_batches(self._reader, ids, model.scores, step)

    def read(self, pairs: Pairs, step: Step = lambda _: None) -> Vectors:
        return self(pairs, step)[:, None]


class MatchReader:
    """A retrieval run as one of a jury: equal contexts and equal replies are encoded once."""

    names = ("match",)

    def __init__(self, folder: Path) -> None:
        self._encode = MatcherRun(folder)

    def read(self, pairs: Pairs, step: Step = lambda _: None) -> Vectors:
        talks = {tuple(turns): i for i, turns in enumerate(dict.fromkeys(tuple(t) for t, _ in pairs))}
        texts = {text: i for i, text in enumerate(dict.fromkeys(reply for _, reply in pairs))}
        contexts, replies = self._encode.contexts(list(talks)), self._encode.replies(list(texts))
        step(f"{len(pairs):,} of {len(pairs):,}")
        left = contexts[[talks[tuple(turns)] for turns, _ in pairs]]
        right = replies[[texts[reply] for _, reply in pairs]]
        return np.asarray((left * right).sum(1, keepdims=True), np.float32)


class LateRun:
    """Late interaction: equal contexts and equal replies are read once, and their words compared."""

    names = ("match", "of_reply", "of_context")

    def __init__(self, folder: Path) -> None:
        self._run = MatcherRun(folder)
        self.name = self._run.name

    def __call__(self, pairs: Pairs, step: Step = lambda _: None) -> Vectors:
        config = self._run.reader.model.config
        return self.read(pairs, step) @ np.array(
            [config.scale, config.word_scale, config.word_scale], np.float32
        )

    def read(self, pairs: Pairs, step: Step = lambda _: None) -> Vectors:
        talks = list(dict.fromkeys(tuple(turns) for turns, _ in pairs))
        texts = list(dict.fromkeys(reply for _, reply in pairs))
        contexts = dict(zip(talks, self._words(self._run.context_ids(talks), False, step), strict=True))
        replies = dict(zip(texts, self._words(self._run.reply_ids(texts), True, step), strict=True))
        found = np.empty((len(pairs), 3), np.float32)
        for place, (turns, reply) in enumerate(pairs):
            (context, said), (answer, answered) = contexts[tuple(turns)], replies[reply]
            like = said @ answered.T  # (words of the context, words of the reply)
            found[place] = context @ answer, like.max(0).mean(), like.max(1).mean()
        step(f"{len(pairs):,} of {len(pairs):,}")
        return found

    def _words(self, ids: list[list[int]], of_reply: bool, step: Step) -> list[tuple[Vectors, Vectors]]:
        """Of each text its vector, and those of its words."""
        torch, model = need("torch", "train", "A run folder"), self._run.reader.model
        longest, size = max(map(len, ids)), model.config.words

        def flat(ids: Any, mask: Any) -> Any:
            read, words = model.read_words(ids, mask, of_reply)
            vectors = (model.place_reply if of_reply else model.place_context)(read)
            words = torch.nn.functional.pad(words, (0, 0, 0, longest - ids.shape[1]))
            return torch.cat([vectors, words.flatten(1)], 1)

        rows = in_batches(self._run.reader, ids, flat, step)
        cut = rows.shape[1] - longest * size
        return [
            (row[:cut], row[cut : cut + size * len(one)].reshape(-1, size))
            for row, one in zip(rows, ids, strict=True)
        ]


def open_juror(folder: Path) -> Reader:
    """A finished run of any model that can be one of a jury."""
    model = _model_of(folder)
    if model == "late_matcher":
        return LateRun(folder)
    if model in MATCHERS:
        return MatchReader(folder)
    return CrossRun(folder) if model == "cross_encoder" else LikelihoodRun(folder)


class JuryRun:
    def __init__(self, folder: Path) -> None:
        from heartfelt.models.jury import Settings

        self.name = folder.resolve().name
        settings, _ = fill(Settings, load_recipe(folder / "recipe.yaml").settings)
        path = folder / WEIGHTS
        try:
            found = json.loads(path.read_text(encoding="utf-8"))
        except OSError:
            raise MissingData(
                f"{folder} is not a finished run: heartfelt runs list shows those that are"
            ) from None
        except ValueError as problem:
            raise BadData(f"{path} is not JSON: {problem}") from None
        self._readers = [open_juror(Path(run)) for run in (settings.shortlist, *settings.readers)]  # type: ignore[union-attr]
        self._weights = np.array(
            [number for reader in found for number in reader["weights"].values()], np.float32
        )

    def __call__(self, pairs: Pairs, step: Step = lambda _: None) -> Vectors:
        columns = np.concatenate([reader.read(pairs, step) for reader in self._readers], axis=1)
        return np.asarray(columns @ self._weights, np.float32)


def _model_of(folder: Path) -> str:
    path = folder / "recipe.yaml"
    if not path.is_file():
        raise MissingData(f"{folder} is not a finished run: heartfelt runs list shows those that are")
    model = load_recipe(path).model
    known = dict.fromkeys((*RERANKERS, *MATCHERS, "listener_lm"))
    if model not in known:
        raise UnknownName("model that reads replies", model, known)
    return model
