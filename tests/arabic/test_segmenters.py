"""Who cuts words: how well, how fast, and what is said where one is missing."""

import sys
from pathlib import Path
from types import ModuleType

import pytest

from heartfelt.arabic import SEGMENTERS, open_segmenter, segment
from heartfelt.arabic.clitics import whole
from heartfelt.arabic.plain import count, split
from heartfelt.errors import MissingExtra, UnknownName
from tests.arabic.test_text import farasa

ROWS = [
    line.split("\t") for line in Path(__file__).with_name("words.tsv").read_text("utf-8").splitlines()[1:]
]


def right(name: str) -> int:
    cut = farasa() if name == "farasa" else open_segmenter(name)
    return sum(" ".join(cut(word)) == analysis for word, analysis, _ in ROWS)


def test_the_known_analyses_make_their_words() -> None:
    assert len(ROWS) == len({word for word, *_ in ROWS}) == 200
    assert all(whole(analysis.split()) == word for word, analysis, _ in ROWS)


# Measured, 2026-11-17: whoever changes rules or list should know what it costs.
@pytest.mark.parametrize(("name", "least"), [("plain", 198), ("farasa", 182)])
def test_accuracy_on_200_words(name: str, least: int) -> None:
    assert right(name) >= least


def test_to_cut_nothing_is_worse() -> None:
    assert right("none") < 60


def test_counted_words_are_stems() -> None:
    assert split("وزعافيط") == ("وزعافيط",) or list(split("وزعافيط")) == ["وزعافيط"]
    counts = count(["هذه الزعافيط كثيرة.", "زعافيط جديدة"])
    assert counts["زعافيط"] == 1
    assert open_segmenter("plain", counts)("وزعافيط") == ("و+", "زعافيط")


def test_a_word_is_cut_alike_in_any_company() -> None:
    cut = open_segmenter("plain")
    words = [word for word, *_ in ROWS]
    alone = [" ".join(cut(word)) for word in words]
    assert segment(" ".join(words), open_segmenter("plain")) == " ".join(alone)


def test_a_word_is_cut_once(monkeypatch: pytest.MonkeyPatch) -> None:
    asked: list[str] = []
    port = ModuleType("farasa.segmentation")
    port.segmentLine = lambda word: asked.append(word) or ["و+كتاب"]  # type: ignore[attr-defined]
    monkeypatch.setitem(sys.modules, "farasa.segmentation", port)
    cut = open_segmenter("farasa")
    assert [cut("وكتاب"), cut("وكتاب")] == [("و+", "كتاب")] * 2
    assert asked == ["وكتاب"]


def test_farasas_licence_is_said_once(
    capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    from heartfelt.arabic import segmenters

    segmenters._say_licence.cache_clear()
    monkeypatch.setitem(sys.modules, "farasa.segmentation", ModuleType("farasa.segmentation"))
    open_segmenter("farasa")
    open_segmenter("farasa")
    assert capsys.readouterr().err.count("research only") == 1
    open_segmenter("plain")
    assert not capsys.readouterr().err


def test_farasapy_through_its_own_module(monkeypatch: pytest.MonkeyPatch) -> None:
    """A stand-in for the Java one: what we ask of it, and what we make of its answer."""

    class Java:
        def __init__(self, interactive: bool) -> None:
            assert interactive

        def segment(self, text: str) -> str:
            return {"والكتب": "و+ال+كتب", "كتابها": "كتاب+ها"}.get(text, text)

    module = ModuleType("farasa.segmenter")
    module.FarasaSegmenter = Java  # type: ignore[attr-defined]
    monkeypatch.setitem(sys.modules, "farasa.segmenter", module)
    monkeypatch.setattr("shutil.which", lambda name: "/bin/java")
    assert segment("والكتب كتابها؟", open_segmenter("farasapy")) == "و+ ال+ كتب كتاب +ها ؟"
    monkeypatch.setattr("shutil.which", lambda name: None)
    with pytest.raises(MissingExtra, match="needs Java"):
        open_segmenter("farasapy")


def test_what_is_missing_is_said(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "farasa.segmentation", None)
    monkeypatch.setitem(sys.modules, "farasa.segmenter", None)
    with pytest.raises(MissingExtra, match=r"pip install 'heartfelt\[arabic\]'"):
        open_segmenter("farasa")
    with pytest.raises(MissingExtra, match="pip install farasapy"):
        open_segmenter("farasapy")
    with pytest.raises(UnknownName, match="Did you mean 'plain'"):
        open_segmenter("plane")
    assert set(SEGMENTERS) == {"plain", "farasa", "farasapy", "none"}
