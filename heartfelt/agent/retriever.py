"""Replies that people once gave: the agent's retrieval backend, and what joins a generator's candidates."""

import os
from collections.abc import Callable, Sequence
from pathlib import Path

from heartfelt.agent.generator import Decoding, Wish
from heartfelt.agent.listen import Listener, shipped
from heartfelt.dialogue import Candidate, Dialogue, Turn
from heartfelt.errors import MissingData
from heartfelt.retrieval.embedder import Embedder, MatcherRun, matches
from heartfelt.retrieval.index import Index, read_card
from heartfelt.retrieval.reranker import Reranker, open_reranker

SHORTLIST = 20  # replies that a re-ranker reads
IN_RUN = "index"  # where a retrieval run's own index lies, below its folder


class Retriever:
    languages = ("en",)

    def __init__(self, index: Index, again: Reranker | None = None) -> None:
        """again: reads the first ones once more, and puts them in order."""
        self._index, self._again = index, again
        self.name = f"{index.embedder.name} among {len(index):,} replies"

    def say(self, dialogue: Dialogue, wish: Wish, count: int, decoding: Decoding) -> list[Candidate]:
        """The replies that fit best, each with its "match". A wish is for the ranker to grant."""
        return self.find([dialogue.turns], count)[0]

    def find(self, talks: Sequence[Sequence[Turn]], count: int) -> list[list[Candidate]]:
        """For each of several talks the replies that fit best, the best first."""
        wanted = max(count, SHORTLIST) if self._again else count
        scores, places = self._index.search(self._index.embedder.contexts(talks), wanted)
        found = [
            [Candidate(self._index.text(place), {"match": score}) for score, place in zip(*row, strict=True)]
            for row in zip(scores.tolist(), places.tolist(), strict=True)
        ]
        if self._again:
            found = self._reread(self._again, talks, found)
        return [row[:count] for row in found]

    def _reread(
        self, again: Reranker, talks: Sequence[Sequence[Turn]], found: list[list[Candidate]]
    ) -> list[list[Candidate]]:
        fits = iter(
            again([(talk, one.text) for talk, row in zip(talks, found, strict=True) for one in row]).tolist()
        )
        both = [[Candidate(one.text, one.scores | {"reread": next(fits)}) for one in row] for row in found]
        return [sorted(row, key=lambda one: -one.scores["reread"]) for row in both]

    def stream(self, dialogue: Dialogue, wish: Wish, heard: Callable[[str], None], decoding: Decoding) -> str:
        text = self.say(dialogue, wish, 1, decoding)[0].text
        heard(text)
        return text


def is_retrieval(folder: Path) -> bool:
    """An index, or a retrieval run?"""
    return (folder / "index.json").is_file() or matches(folder)


def retriever(folder: Path, listener: Listener | None = None, reranker: Path | None = None) -> Retriever:
    """Replies from an index, or from that of a retrieval run."""
    if not (folder / "index.json").is_file() and matches(folder):
        if not (folder / IN_RUN).is_dir():
            raise MissingData(
                f"{folder} has no replies to choose from yet: heartfelt index build {folder / IN_RUN} --encoder "
                f"{folder} --from empathetic_dialogues"
            )
        folder /= IN_RUN
    index = Index(folder, embedder_of(folder, listener))
    return Retriever(index, open_reranker(reranker) if reranker else None)


def embedder_of(index: Path, listener: Listener | None = None) -> Embedder:
    """The encoder that an index says it was made with."""
    run = read_card(index).run
    if not run:
        return listener or shipped()
    folder = Path(os.path.normpath(index.resolve() / run))
    if not matches(folder):
        raise MissingData(
            f"The index {index} was made with the run {folder.name}, which is not at {folder} any more"
        )
    return MatcherRun(folder)
