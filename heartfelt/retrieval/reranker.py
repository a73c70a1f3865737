"""A finished cross-encoder run puts a shortlist in order (torch)."""

from collections.abc import Callable, Sequence
from pathlib import Path

from heartfelt.dialogue import Turn
from heartfelt.models import RERANKERS
from heartfelt.retrieval.embedder import Vectors
from heartfelt.retrieval.reading import in_batches, open_reader

Pairs = Sequence[tuple[Sequence[Turn], str]]  # contexts and replies


class CrossRun:
    def __init__(self, folder: Path) -> None:
        self._reader = open_reader(folder, RERANKERS, "re-rank")
        self.name = folder.resolve().name

    def __call__(self, pairs: Pairs, step: Callable[[str], None] = lambda _: None) -> Vectors:
        """(pairs,) how well each reply fits its context; only those of one context can be compared."""
        from heartfelt.models.cross_encoder import encode_pair

        _, settings, tokenizer, model = self._reader
        ids = [encode_pair(settings, tokenizer, turns, reply) for turns, reply in pairs]
        return in_batches(self._reader, ids, model.scores, step)
