"""Words and numbers in a file: the right row for every word, and nothing from a file that is not whole."""

import gzip
import json
from math import sqrt
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from heartfelt.errors import BadData, MissingData
from heartfelt.files import Faults
from heartfelt.knowledge import vad, vectors, word_table
from heartfelt.knowledge.word_table import WordTable


@settings(deadline=None, max_examples=50)  # the machine may be busy
@given(words=st.lists(st.text(st.characters(exclude_categories=("Cs",))), unique=True, max_size=40))
def test_every_word_finds_its_own_row(tmp_path_factory: pytest.TempPathFactory, words: list[str]) -> None:
    path = tmp_path_factory.mktemp("table") / "t.words"
    word_table.write(path, ((word, (place, -place)) for place, word in enumerate(words)))
    table = WordTable(path)
    assert len(table) == len(words)
    for place, word in enumerate(words):
        row = table.get(word)
        assert row is not None
        assert row.tolist() == [place, -place]
    assert table.get("not there, surely") is None


def test_the_first_of_equal_words_counts_also_when_they_follow_each_other(tmp_path: Path) -> None:
    path = tmp_path / "t.words"
    assert word_table.write(path, [("a", (1.0,)), ("a", (2.0,)), ("b", (3.0,)), ("a", (4.0,))]) == 2
    assert [WordTable(path).get(word) for word in "ab"] == [[1.0], [3.0]]


def test_a_file_that_is_not_whole_is_refused(tmp_path: Path) -> None:
    path = tmp_path / "t.words"
    word_table.write(path, [("a", (1.0, 2.0)), ("b", (3.0, 4.0))])
    whole = path.read_bytes()
    for broken in (b"", whole[:30], whole[:-1], b"x" * len(whole), whole + b"x"):
        path.write_bytes(broken)
        with pytest.raises(BadData, match="heartfelt knowledge build"):
            WordTable(path)
    with pytest.raises(MissingData):
        WordTable(tmp_path / "none.words")


@pytest.mark.parametrize(
    ("valence", "arousal", "expected"),
    [
        (0.5, 0.0, 0.0),  # neutral and calm
        (1.0, 1.0, 1.0),  # √(.25 + .25) / √.5
        (0.0, 1.0, 1.0),
        (0.9, 0.6, 0.7071),  # (.4, .3): a norm of .5, and .5 / .70711
        (0.960, 0.732, 0.8313),  # the paper's "happiness": √(.46² + .366²) = .58784
    ],
)
def test_intensity_by_hand(valence: float, arousal: float, expected: float) -> None:
    assert vad.intensity(valence, arousal) == pytest.approx(expected, abs=5e-5)


def lexicon(tmp_path: Path, name: str, text: str) -> tuple[vad.Vad, Faults]:
    source, path, faults = tmp_path / name, tmp_path / "vad.words", Faults()
    source.write_text(text)
    word_table.write(path, vad.read(source, faults))
    return vad.Vad(path), faults


def test_the_lexicon_in_text_with_a_header_and_a_broken_line(tmp_path: Path) -> None:
    text = (
        "Word\tValence\tArousal\tDominance\nJoy\t0.9\t0.6\t0.5\nabdominal\t0.49\t0.45\t0.44z\nfar\t7\t0\t0\n"
    )
    found, faults = lexicon(tmp_path, "vad.txt", text)
    assert found.intensity("joy") == pytest.approx(0.5 / sqrt(0.5))
    assert found.intensity("abdominal") == 0.5, "unknown words have the middle"
    assert [fault.line for fault in faults.first] == [3, 4]


def test_the_second_edition_goes_from_minus_one_to_one(tmp_path: Path) -> None:
    text = "term\tvalence\tarousal\tdominance\njoy\t0.8\t0.2\t0.0\nsad\t-0.6\t-0.4\t0\n"
    found, _ = lexicon(tmp_path, "vad.txt", text)
    assert found.intensity("joy") == pytest.approx(vad.intensity(0.9, 0.6))
    assert found.intensity("sad") == pytest.approx(vad.intensity(0.2, 0.3))


def test_the_lexicon_in_json(tmp_path: Path) -> None:
    found, _ = lexicon(tmp_path, "vad.json", json.dumps({"joy": [0.9, 0.6, 0.5]}))
    assert found.intensity("joy") == pytest.approx(0.5 / sqrt(0.5))
    for wrong in ("[]", '{"joy": [1]}', "{"):
        with pytest.raises(BadData, match="VAD lexicon"):
            lexicon(tmp_path, "vad.json", wrong)
    with pytest.raises(BadData, match="three scores"):
        lexicon(tmp_path, "vad.txt", "no\nscores\n")


def embeddings(tmp_path: Path, name: str, raw: bytes) -> tuple[vectors.Vectors, Faults]:
    source, path, faults = tmp_path / name, tmp_path / "vectors.words", Faults()
    source.write_bytes(raw)
    word_table.write(path, vectors.read(source, faults))
    return vectors.Vectors(path), faults


GLOVE = b"fear 3 4 0\npanic 4 3 0\nblood 1 0 0\ncell 0 1 0\n. . 0 0 1\n"


def test_glove_by_hand(tmp_path: Path) -> None:
    found, faults = embeddings(tmp_path, "glove.txt", GLOVE + b"short 1 2\nodd 1 2 x\nnone nan 0 0\n")
    assert [fault.line for fault in faults.first] == [6, 7, 8]
    assert found.similarity("fear", "panic") == pytest.approx((12 + 12) / 25)
    # "blood cell" is the mean of its words: (½, ½, 0)
    assert found.similarity("blood", "blood cell") == pytest.approx(sqrt(0.5))
    assert found.similarity("blood", "blood-cell unheard") == pytest.approx(sqrt(0.5))
    assert found.similarity("fear", "unheard") == 0.0
    assert found.vector(". .") is not None, "a word of GloVe 840B with a space in it"


def test_word2vec_counts_in_its_first_line_and_files_may_be_packed(tmp_path: Path) -> None:
    found, faults = embeddings(tmp_path, "w2v.txt.gz", gzip.compress(b"5 3\n" + GLOVE))
    assert faults.count == 0
    assert (len(found.table), found.table.size) == (5, 3)


def test_the_npm_package(tmp_path: Path) -> None:
    """Its vectors are followed by their norm and the word's place."""
    rows = {"fear": [3, 4, 0, 5.0, 0], "panic": [4, 3, 0, 5.0, 1], "short": [1], "odd": "x"}
    found, faults = embeddings(
        tmp_path,
        "wink.json",
        json.dumps({"precision": 8, "dimensions": 3, "words": [], "vectors": rows}).encode(),
    )
    assert (len(found.table), found.table.size, faults.count) == (2, 3, 2)
    assert found.similarity("fear", "panic") == pytest.approx(24 / 25)
    for wrong in (b"", b"[]", b'{"dimensions": 3}'):
        with pytest.raises(BadData, match="wink"):
            embeddings(tmp_path, "wink.json", wrong)


def test_what_holds_no_vectors(tmp_path: Path) -> None:
    with pytest.raises(BadData, match="no word vectors"):
        embeddings(tmp_path, "glove.txt", b"one\ntwo\n")
    assert not (tmp_path / "vectors.words").exists()


def test_rows_are_read_from_the_map(tmp_path: Path) -> None:
    found, _ = embeddings(tmp_path, "glove.txt", GLOVE)
    row = found.table.get("fear")
    assert row is not None
    assert not row.flags.owndata
    assert not row.flags.writeable
    assert row.dtype == np.float32
