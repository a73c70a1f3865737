"""CKECE, the commonsense knowledge and emotional concepts extractor of liu2021 (section 3.1).

Keywords of the dialogue, what ConceptNet ties to them, the paper's filters, and the paper's score of what is left:
intensity of feeling + similarity to the keyword + confidence. The three best of each keyword, ten at the most.
"""

import re
from collections.abc import Callable, Iterable, Sequence
from functools import lru_cache
from typing import Protocol

from heartfelt.dialogue import Concept, Dialogue, Turn, Value
from heartfelt.errors import need
from heartfelt.knowledge.conceptnet import Neighbour
from heartfelt.knowledge.keywords import Keyword
from heartfelt.knowledge.stop_words import ENGLISH

# What the paper leaves out; all of dbpedia's. Its three denials (Not…) are those of ConceptNet 5; the cut CN-100K has
# three more, which are left out too: "house <not is a> home".
EXCLUDED = frozenset(
    """
    Antonym ExternalURL NotDesires NotHasProperty NotCapableOf dbpedia DistinctFrom EtymologicallyDerivedFrom
    EtymologicallyRelatedTo SymbolOf FormOf AtLocation DerivedFrom
    """.split()
)
_REMEMBERED = 20_000  # keywords
_LEAST, _MOST = 1.0, 10.0  # where ConceptNet's weights usually lie (equation 1)


class Settings(Value, frozen=True):
    """The paper's numbers."""

    confidence: float = 0.1  # scaled; below it an edge does not count
    per_keyword: int = 3
    most: int = 10


class Finding(Value, frozen=True):
    """A concept with all that its score is made of."""

    keyword: str
    relation: str  # ConceptNet's name
    concept: str
    score: float  # intensity + similarity + confidence
    intensity: float
    similarity: float
    confidence: float
    weight: float  # ConceptNet's own, before it is scaled
    backwards: bool = False  # the edge goes from concept to keyword

    @property
    def plain(self) -> str:
        """As a decoder reads it: "fear <is a> panic". The paper writes edges of either direction so."""
        return f"{self.keyword} <{in_words(self.relation)}> {self.concept}"

    def to_concept(self) -> Concept:
        return Concept(self.keyword, in_words(self.relation), self.concept, self.score)


class Graph(Protocol):
    def about(self, word: str, least: float) -> Iterable[Neighbour]: ...


class Extractor:
    """Dialogue → concepts. The parts are functions, so that others can take their place."""

    def __init__(
        self,
        keywords: Callable[[str], Sequence[Keyword]],
        graph: Graph,
        intensity: Callable[[str], float],
        similarity: Callable[[str, str], float],
        settings: Settings | None = None,
    ) -> None:
        self.keywords = keywords
        self._graph = graph
        self._intensity = intensity
        self._similarity = similarity
        self.settings = settings or Settings()
        self.about = lru_cache(_REMEMBERED)(self._about)  # people speak of the same things

    def __call__(self, text: str) -> tuple[Finding, ...]:
        """The concepts of a text (see `document`), the best first."""
        chosen = [found for word, _ in self.keywords(text) for found in self.about(word)]
        return tuple(sorted(chosen, key=_order)[: self.settings.most])

    def concepts(self, dialogue: Dialogue) -> tuple[Concept, ...]:
        """What the agent asks for. Our knowledge is English: other languages have none."""
        if dialogue.language != "en":
            return ()
        return tuple(found.to_concept() for found in self(document(dialogue.turns)))

    def _about(self, keyword: str) -> tuple[Finding, ...]:
        """The best concepts of one keyword."""
        if keyword in ENGLISH:
            return ()
        least = _LEAST + self.settings.confidence * (_MOST - _LEAST)
        best: dict[tuple[str, str], Finding] = {}
        for neighbour in self._graph.about(keyword, least - 1e-6):  # 1.9 is a hair less than 1 + .1 × 9
            if fits(keyword, neighbour):
                found = self._scored(keyword, neighbour)
                # ConceptNet has many edges in both directions; they read the same
                same = best.setdefault((found.relation, found.concept), found)
                if _order(found) < _order(same):
                    best[found.relation, found.concept] = found
        return tuple(sorted(best.values(), key=_order)[: self.settings.per_keyword])

    def _scored(self, keyword: str, neighbour: Neighbour) -> Finding:
        intensity = self._intensity(neighbour.concept)
        similarity = self._similarity(keyword, neighbour.concept)
        confidence = scaled(neighbour.weight)
        return Finding(
            keyword, neighbour.relation, neighbour.concept, intensity + similarity + confidence,
            intensity, similarity, confidence, neighbour.weight, neighbour.backwards,
        )  # fmt: skip


def _order(found: Finding) -> tuple[object, ...]:
    """The best first; of equals always the same."""
    return (-found.score, -found.weight, found.keyword, found.relation, found.concept, found.backwards)


def document(turns: Sequence[Turn]) -> str:
    """A dialogue's context as one text."""
    return " ".join(turn.text for turn in turns)


def plain(concepts: Iterable[Concept]) -> str:
    """Concepts as text: "fear <is a> panic; cough <related to> sneeze"."""
    return "; ".join(f"{one.keyword} <{one.relation}> {one.concept}" for one in concepts)


def scaled(weight: float) -> float:
    """Confidence from 0 to 1: equation 1. A few weights of ConceptNet are beyond 10, and count as 10."""
    return min(max((weight - _LEAST) / (_MOST - _LEAST), 0.0), 1.0)


def fits(keyword: str, neighbour: Neighbour) -> bool:
    """The paper's filters, but for confidence."""
    return (
        neighbour.relation.split("/")[0] not in EXCLUDED
        and not neighbour.relation.startswith("Not")
        and neighbour.concept not in ENGLISH
        and stem(neighbour.concept) != stem(keyword)
    )


@lru_cache(100_000)
def stem(term: str) -> tuple[str, ...]:
    """The stems of a term's words: "actually" and "actual" have the same."""
    return tuple(_stemmer().stemWords(term.split()))


@lru_cache(1)
def _stemmer() -> "_Stemmer":
    made: _Stemmer = need("snowballstemmer", "knowledge", "Telling words of one stem").stemmer("english")
    return made


class _Stemmer(Protocol):
    def stemWords(self, words: list[str]) -> list[str]: ...  # noqa: N802


def in_words(relation: str) -> str:
    """CausesDesire → causes desire."""
    return re.sub(r"(?<=.)(?=[A-Z])", " ", relation).replace("/", " ").lower()
