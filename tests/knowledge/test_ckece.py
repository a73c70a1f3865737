"""CKECE: the paper's numbers, its filters, its example; the same alone or among others."""

import json
import random
from collections.abc import Sequence
from pathlib import Path

import numpy as np
import pytest

from heartfelt.dialogue import Concept, Dialogue, Turn
from heartfelt.errors import BadData, InvalidValue, MissingData
from heartfelt.knowledge import extracted, picture
from heartfelt.knowledge.ckece import (
    EXCLUDED,
    Extractor,
    Finding,
    Settings,
    document,
    fits,
    in_words,
    plain,
    scaled,
    stem,
)
from heartfelt.knowledge.conceptnet import Neighbour
from heartfelt.knowledge.keywords import Keywords
from heartfelt.knowledge.stop_words import ENGLISH

pytest.importorskip("keybert")


class Small:
    """A graph that one can see."""

    def __init__(self, **edges: list[Neighbour]) -> None:
        self._edges = edges

    def about(self, word: str, least: float) -> list[Neighbour]:
        return [edge for edge in self._edges.get(word, []) if edge.weight >= least]


def edge(relation: str, concept: str, weight: float, backwards: bool = False) -> Neighbour:
    return Neighbour(relation, concept, weight, backwards)


def extractor(graph: Small, *keywords: str, settings: Settings | None = None, **feelings: float) -> Extractor:
    near = {frozenset(("fear", "panic")): 0.7, frozenset(("loneliness", "socialize")): 0.4}
    return Extractor(
        lambda _: [(word, 1.0) for word in keywords],
        graph,
        lambda word: feelings.get(word, 0.5),
        lambda one, other: near.get(frozenset((one, other)), 0.0),
        settings,
    )


@pytest.mark.parametrize(
    ("weight", "expected"),
    [(3.464, 0.274), (1.0, 0.0), (10.0, 1.0), (0.5, 0.0), (22.9, 1.0), (2.0, 0.111)],
)
def test_confidence_by_hand(weight: float, expected: float) -> None:
    """(loneliness, CausesDesire, socialize, 3.464) is the paper's own: 2.464 / 9."""
    assert scaled(weight) == pytest.approx(expected, abs=5e-4)


def test_the_final_score_by_hand() -> None:
    """Intensity .8 + cosine .4 + confidence (3.464 - 1) / 9 = 1.4738."""
    graph = Small(loneliness=[edge("CausesDesire", "socialize", 3.464)])
    (found,) = extractor(graph, "loneliness", socialize=0.8)("any text")
    assert found.score == pytest.approx(1.4738, abs=5e-5)
    assert (found.intensity, found.similarity) == (0.8, 0.4)
    assert found.confidence == pytest.approx(0.2738, abs=5e-5)
    assert found.plain == "loneliness <causes desire> socialize"


def test_what_the_paper_leaves_out() -> None:
    for keyword, neighbour in (
        ("addition", edge("Synonym", "addition", 2)),  # the same
        ("actual", edge("RelatedTo", "actually", 2)),  # the same stem
        ("friend", edge("RelatedTo", "friends", 2)),
        ("make friend", edge("RelatedTo", "making friends", 2)),
        ("fear", edge("RelatedTo", "themselves", 2)),  # a stop word
        *(("fear", edge(relation, "panic", 2)) for relation in (*EXCLUDED, "dbpedia/genre", "NotIsA")),
    ):
        assert not fits(keyword, neighbour), (keyword, neighbour)
    assert len(EXCLUDED) == 13, "the paper lists fourteen, SymbolOf twice"
    assert fits("fear", edge("IsA", "panic", 2))
    assert fits("friend", edge("IsA", "best friend", 2))
    assert stem("actual") == stem("actually") == ("actual",)


def test_weak_edges_do_not_count_and_the_edge_of_the_threshold_does() -> None:
    """1.9 scales to .1, which is not less than .1."""
    graph = Small(fear=[edge("IsA", "a", 1.89), edge("IsA", "panic", 1.9), edge("IsA", "terror", 1.0)])
    assert [found.concept for found in extractor(graph, "fear")("")] == ["panic"]
    all_ = extractor(graph, "fear", settings=Settings(confidence=0.0))("")
    assert {found.concept for found in all_} == {"panic", "terror"}, "'a' is a stop word"


def test_three_of_a_keyword_and_ten_in_all() -> None:
    words = [f"word{number}" for number in range(6)]
    graph = Small(**{word: [edge("IsA", f"{word}-{n}", 2 + n) for n in range(5)] for word in words})
    found = extractor(graph, *words)("")
    assert len(found) == 10
    assert [one.score for one in found] == sorted((one.score for one in found), reverse=True)
    assert {one.weight for one in found} == {6, 5}, "six of weight 6, four of weight 5"
    assert [one.weight for one in extractor(graph, "word0")("")] == [6, 5, 4]
    assert len(extractor(graph, *words, settings=Settings(per_keyword=1, most=4))("")) == 4


def test_an_edge_in_both_directions_is_told_once() -> None:
    graph = Small(fear=[edge("RelatedTo", "panic", 2, True), edge("RelatedTo", "panic", 3)])
    (found,) = extractor(graph, "fear")("")
    assert (found.weight, found.backwards) == (3, False)


def test_a_keyword_that_is_a_stop_word_brings_nothing() -> None:
    assert extractor(Small(would=[edge("IsA", "panic", 5)]), "would")("") == ()


def test_relations_in_words() -> None:
    names = ("IsA", "CausesDesire", "RelatedTo", "HasFirstSubevent", "PartOf")
    assert [in_words(name) for name in names] == [
        "is a", "causes desire", "related to", "has first subevent", "part of",
    ]  # fmt: skip


def test_what_the_agent_asks_for() -> None:
    graph = Small(fear=[edge("IsA", "panic", 2, True), edge("Causes", "stress", 2)])
    ask = extractor(graph, "fear", panic=0.8)
    turns = (Turn("speaker", "I am in fear."), Turn("listener", "Why?"))
    concepts = ask.concepts(Dialogue("d", turns))
    assert concepts[0] == Concept("fear", "is a", "panic", pytest.approx(0.8 + 0.7 + 1 / 9))
    assert plain(concepts) == "fear <is a> panic; fear <causes> stress"
    assert document(turns) == "I am in fear. Why?"
    assert ask.concepts(Dialogue("d", turns, language="ar")) == ()


def test_stop_words() -> None:
    assert {"i", "would", "don", "don't", "'s", "whereupon", "ca", "amount"} <= ENGLISH
    assert not {"fear", "cry", "fire", "interest", "friend", "alone", "lonely", "hate"} & (
        ENGLISH - {"alone"}
    )
    assert all(word == word.lower().strip() for word in ENGLISH)


def letters(texts: Sequence[str]) -> np.ndarray:
    """Counts letters; its vectors hang on how many texts come together, as those of quantised encoders do."""
    rows = np.array(
        [[text.lower().count(letter) for letter in "abcdefghijklmnopqrstuvwxyz"] for text in texts]
    )
    return rows + 0.5 * len(texts)


TEXTS = [
    "My dog died last night and I cry all day",
    "There was a fire in my house and I lost all my photographs",
    "I'm so proud of my daughter, she didn't give up and won the race",
    "My dog won the race",
    "???",
    "",
]


def test_keywords_are_the_same_alone_in_a_batch_and_in_any_order() -> None:
    alone = {text: Keywords(letters)(text) for text in TEXTS}
    for seed in range(5):
        shuffled = random.Random(seed).sample(TEXTS, len(TEXTS))
        find = Keywords(letters)
        assert {text: find(text) for text in shuffled} == alone
    assert alone["???"] == alone[""] == []
    assert "cry" in dict(alone[TEXTS[0]]), "scikit-learn's own stop words would have lost it"
    assert not {"didn", "and", "my", "so"} & set(dict(alone[TEXTS[2]]))


def test_ten_keywords_at_the_most_and_only_scores_above_zero() -> None:
    def embed(texts: Sequence[str]) -> np.ndarray:
        """The document is (1, 0); words lie all around it."""
        return np.array([[np.cos(a), np.sin(a)] for a in (_angle(text) for text in texts)])

    names = "alpha bravo charlie delta echo foxtrot golf hotel india juliet kilo lima".split()

    def _angle(text: str) -> float:
        return 0.0 if " " in text else 0.1 * (1 + names.index(text))

    found = Keywords(embed)(" ".join(names))
    assert [word for word, _ in found] == names[:10]
    assert found[0][1] == pytest.approx(np.cos(0.1), abs=1e-4)
    far = Keywords(lambda texts: np.array([[1.0, 0.0] if " " in t else [-1.0, 0.0] for t in texts]))
    assert far(" ".join(names)) == []


FOUND = (Finding("fear", "IsA", "panic", 1.3, 0.5, 0.7, 0.1, 2.0, True),)


def test_a_file_of_concepts_is_gone_on_with(tmp_path: Path) -> None:
    path = tmp_path / "concepts.jsonl"
    header = extracted.Header("knowledge", "letters")
    asked: list[str] = []

    def ask(text: str) -> tuple[Finding, ...]:
        if len(asked) == 3:
            raise KeyboardInterrupt
        asked.append(text)
        return FOUND if "fear" in text else ()

    texts = ["fear 1", "two", "fear 1", "three", "fear 4", "five"]
    with pytest.raises(KeyboardInterrupt):
        extracted.extract(path, header, texts, ask)
    assert not path.exists()
    part = tmp_path / "concepts.jsonl.part"
    with part.open("a") as file:
        file.write('{"text": "torn')  # what a kill leaves
    again: list[str] = []
    known = extracted.extract(path, header, texts, lambda text: again.append(text) or FOUND)
    assert (asked, again) == (["fear 1", "two", "three"], ["fear 4", "five"])
    assert list(known) == ["fear 1", "two", "three", "fear 4", "five"]
    assert known["two"] == ()
    assert extracted.read(path) == (header, known)
    assert not part.exists()


def test_another_split_is_added_and_other_knowledge_is_not(tmp_path: Path) -> None:
    path = tmp_path / "concepts.jsonl"
    header = extracted.Header("knowledge", "letters")
    extracted.extract(path, header, ["one"], lambda _: FOUND)
    extracted.extract(path, header, ["two"], lambda _: ())
    assert list(extracted.read(path)[1]) == ["one", "two"]
    for other in (extracted.Header("other", "letters"), extracted.Header("knowledge", "minilm")):
        with pytest.raises(InvalidValue, match="made with other knowledge"):
            extracted.extract(path, other, ["three"], lambda _: ())
    assert list(extracted.read(path)[1]) == ["one", "two"]
    path.write_text("[]\n")
    with pytest.raises(BadData, match="not a file of concepts"):
        extracted.read(path)
    with pytest.raises(MissingData, match="heartfelt concepts --corpus"):
        extracted.read(tmp_path / "none.jsonl")


def test_contexts_are_those_of_listener_turns() -> None:
    turns = [Turn("speaker", "a"), Turn("listener", "b"), Turn("speaker", "c"), Turn("listener", "d")]
    assert list(extracted.contexts([Dialogue("d", tuple(turns))])) == ["a", "a b c"]
    assert list(extracted.contexts([Dialogue("d", tuple(turns))], window=1)) == ["a", "c"]


def test_a_picture_escapes_what_it_shows_and_fetches_nothing(tmp_path: Path) -> None:
    nasty = Finding("fear", "IsA", "<script>alert(1)</script>", 1.0, 0.5, 0.4, 0.1, 2.0)
    picture.write_html(tmp_path / "c.html", "<b>I am in fear</b>", (*FOUND, nasty))
    page = (tmp_path / "c.html").read_text()
    assert "<svg" in page
    assert "← is a" in page
    assert "is a →" in page
    assert "<script" not in page
    assert "<b>I" not in page
    assert "http" not in page
    with pytest.raises(InvalidValue, match="nothing to draw"):
        picture.write_html(tmp_path / "none.html", "x", ())
    assert not (tmp_path / "none.html").exists()


def test_a_drawing_by_hand() -> None:
    found = [
        Finding(word, "IsA", f"{word} {n}", 1.0, 0, 0, 0, 2) for word, n in (("a", 1), ("b", 1), ("a", 2))
    ]
    drawing = picture.draw(found)
    assert [(node.name, node.y) for node in drawing.keywords] == [("a", 34), ("b", 85)]
    assert [(link.finding.concept, link.end) for link in drawing.links] == [
        ("a 1", 17),
        ("a 2", 51),
        ("b 1", 85),
    ]
    assert drawing.height == 3 * 34


def test_a_png(tmp_path: Path) -> None:
    pytest.importorskip("matplotlib")
    picture.write_png(tmp_path / "c.png", FOUND)
    assert (tmp_path / "c.png").read_bytes().startswith(b"\x89PNG")


def test_findings_go_through_json() -> None:
    assert Finding.from_json(FOUND[0].to_json()) == FOUND[0]
    assert json.loads(FOUND[0].to_json())["backwards"] is True
