"""Pools and their indices: nothing half-written, nothing mixed up, and the best reply is found."""

import errno
import json
import shutil
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from heartfelt.dialogue import Turn
from heartfelt.errors import BadData, HeartfeltError, InvalidValue, MissingData, UnknownName
from heartfelt.retrieval import index as indices
from heartfelt.retrieval.index import Index, build, read_card
from heartfelt.retrieval.pool import LONGEST, Pool, read_pool


class Letters:
    """Counts letters: a text is nearest to one with the same letters."""

    name = "letters"

    def __init__(self, fingerprint: str = "one") -> None:
        self.fingerprint = fingerprint
        self.encoded = 0

    def replies(self, texts: Sequence[str]) -> np.ndarray:
        self.encoded += len(texts)
        rows = np.array(
            [[text.lower().count(letter) for letter in "abcdefghijklmnopqrstuvwxyz"] for text in texts]
        )
        return (rows / np.maximum(np.linalg.norm(rows, axis=1, keepdims=True), 1e-9)).astype(np.float32)

    def contexts(self, talks: Sequence[Sequence[Turn]]) -> np.ndarray:
        return self.replies([talk[-1].text for talk in talks])


def pool(*texts: str) -> Pool:
    return Pool(texts, ("made",), len(texts), 0, 0, 0)


def best(index: Index, text: str, count: int = 1) -> list[str]:
    _, places = index.search(index.embedder.contexts([[Turn("speaker", text)]]), count)
    return [index.text(place) for place in places[0].tolist()]


def test_the_nearest_reply_is_found_and_survives_the_disk(tmp_path: Path) -> None:
    texts = ("I am glad", "Poor dog!", "Ça va — zut", "حسنا")
    build(tmp_path / "index", pool(*texts), Letters())
    index = Index(tmp_path / "index", Letters())
    assert len(index) == 4
    assert [index.text(place) for place in range(4)] == list(texts)
    assert best(index, "dog poor") == ["Poor dog!"]
    assert best(index, "zut va", 2)[0] == "Ça va — zut"
    assert len(best(index, "glad", 99)) == 4, "asked for more than there are"
    assert sorted(path.name for path in tmp_path.iterdir()) == ["index"]


def test_exact_search_is_a_sort(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(indices, "_BLOCK", 7)
    draw = np.random.default_rng(0)
    texts = ["".join(draw.choice(list("abcdefgh"), 6)) for _ in range(50)]
    index = build(tmp_path / "index", pool(*dict.fromkeys(texts)), Letters())
    queries = Letters().replies(["abc", "hgf", "dde"])
    scores, places = index.search(queries, 5)
    everything = queries @ Letters().replies(list(dict.fromkeys(texts))).T
    expected = np.argsort(-everything, axis=1, kind="stable")[:, :5]
    assert (places == expected).all()
    assert np.allclose(scores, np.take_along_axis(everything, expected, 1))


def test_a_large_pool_is_searched_by_lists(tmp_path: Path) -> None:
    pytest.importorskip("faiss", reason="needs faiss: pip install 'heartfelt[retrieve]'")
    draw = np.random.default_rng(1)
    texts = list(dict.fromkeys("".join(draw.choice(list("abcdefghijklmnop"), 9)) for _ in range(3000)))
    exact = build(tmp_path / "exact", pool(*texts), Letters())
    near = build(tmp_path / "near", pool(*texts), Letters(), approximate_from=1000)
    assert read_card(tmp_path / "near").lists > 100
    queries = Letters().replies(["".join(draw.choice(list("abcdefghijklmnop"), 9)) for _ in range(200)])
    same = exact.search(queries, 1)[0][:, 0] <= near.search(queries, 1)[0][:, 0] + 1e-6
    assert same.mean() >= 0.95
    broken = shutil.copytree(tmp_path / "near", tmp_path / "broken")  # `near` itself is mapped into memory
    (broken / "lists.faiss").write_bytes(b"no")
    with pytest.raises(BadData, match="is not whole"):
        Index(broken, Letters())


def test_vectors_of_two_encoders_are_never_mixed(tmp_path: Path) -> None:
    build(tmp_path / "index", pool("yes", "no"), Letters("one"))
    with pytest.raises(
        BadData, match=r"made with another version of letters: build it again \(heartfelt index build\)"
    ):
        Index(tmp_path / "index", Letters("two"))


def test_what_was_encoded_is_not_encoded_again(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(indices, "PART", 2)
    texts = ("one", "two", "three", "four", "five")

    class Tired(Letters):
        def replies(self, texts: Sequence[str]) -> np.ndarray:
            if self.encoded >= 4:
                raise KeyboardInterrupt
            return super().replies(texts)

    with pytest.raises(KeyboardInterrupt):
        build(tmp_path / "index", pool(*texts), Tired())
    assert not (tmp_path / "index").exists()
    # A cut-off write after the last record does not count.
    with (tmp_path / ".index.part" / "vectors.f32").open("ab") as file:
        file.write(b"half")
    second = Letters()
    index = build(tmp_path / "index", pool(*texts), second)
    assert second.encoded == 1
    assert best(index, "eerht") == ["three"]
    # Another pool, or another encoder, begins anew.
    with pytest.raises(KeyboardInterrupt):
        build(tmp_path / "index", pool(*texts, "six"), Tired())
    assert best(Index(tmp_path / "index", Letters()), "eerht") == ["three"], (
        "the old one is there until the new one is"
    )
    third = Letters()
    build(tmp_path / "index", pool(*texts), third)
    assert third.encoded == 5


def test_a_record_that_promises_too_much_is_not_believed(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(indices, "PART", 2)
    build(tmp_path / "index", pool("one", "two", "three"), Letters())
    begun = tmp_path / ".other.part"
    begun.mkdir()
    record = {"fingerprint": "one", "pool": indices._hash(("one", "two", "three")), "done": 2, "size": 26}
    (begun / "begun.json").write_text(json.dumps(record))
    (begun / "vectors.f32").write_bytes(b"1234")
    again = Letters()
    index = build(tmp_path / "other", pool("one", "two", "three"), again)
    assert again.encoded == 3 and best(index, "owt") == ["two"]


def test_a_full_disk_loses_nothing(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    build(tmp_path / "index", pool("old"), Letters())

    def full(*_: Any) -> None:
        raise OSError(errno.ENOSPC, "No space left on device")

    monkeypatch.setattr(indices, "_write_texts", full)
    with pytest.raises(HeartfeltError, match="could not be written: No space left on device"):
        build(tmp_path / "index", pool("new", "newer"), Letters())
    monkeypatch.undo()
    assert best(Index(tmp_path / "index", Letters()), "x") == ["old"]
    again = Letters()
    build(tmp_path / "index", pool("new", "newer"), again)
    assert again.encoded == 0


@pytest.mark.parametrize("name", ["vectors.f32", "texts.bin", "offsets.npy"])
def test_a_damaged_index_is_refused(name: str, tmp_path: Path) -> None:
    build(tmp_path / "index", pool("yes", "no"), Letters())
    path = tmp_path / "index" / name
    path.write_bytes(path.read_bytes()[:-1])
    with pytest.raises(BadData, match="is not whole"):
        Index(tmp_path / "index", Letters())
    path.unlink()
    with pytest.raises(BadData, match="is not whole"):
        Index(tmp_path / "index", Letters())


def test_other_folders_are_left_alone(tmp_path: Path) -> None:
    (tmp_path / "notes.txt").write_text("mine")
    with pytest.raises(HeartfeltError, match="is not an index; choose another folder"):
        build(tmp_path, pool("yes"), Letters())
    with pytest.raises(MissingData, match="is not an index: heartfelt index build"):
        Index(tmp_path, Letters())
    (tmp_path / "index.json").write_text("{")
    with pytest.raises(BadData, match="is not an index's card"):
        Index(tmp_path, Letters())


def test_a_pool_holds_every_reply_once(tmp_path: Path) -> None:
    file = tmp_path / "mine.txt"
    file.write_text("How lovely!\n\nhow lovely\nWhat  happened?\nCall me.\n")
    found = read_pool([str(file)], fit=lambda text: "Call" not in text)
    assert found == Pool(("How lovely!", "What happened?"), ("mine.txt",), 4, 1, 0, 1)


def test_pools_of_corpora_hold_what_answers(tmp_path: Path) -> None:
    folder = tmp_path / "empathetic_dialogues"
    folder.mkdir()
    header = "conv_id,utterance_idx,context,prompt,speaker_idx,utterance,selfeval,tags\n"
    rows = "a,1,sad,p,1,I cried.,,\na,2,sad,p,0,Oh no.,,\na,3,sad,p,1,Yes.,,\na,4,sad,p,0,I see.,,\n"
    for split in ("train", "valid", "test"):
        (folder / f"{split}.csv").write_text(header + rows)
    assert read_pool(["empathetic_dialogues"], tmp_path).texts == ("Oh no.", "I see.")


def test_bad_pools_are_refused_in_a_line(tmp_path: Path) -> None:
    file = tmp_path / "mine.txt"
    file.write_text("ok\n" + "x" * 100_000 + "\n")
    with pytest.raises(BadData, match=rf"mine.txt, line 2: a reply of 100,000 characters; at most {LONGEST}"):
        read_pool([str(file)])
    file.write_text("\n\n")
    with pytest.raises(BadData, match="There is no reply in"):
        read_pool([str(file)])
    file.write_bytes(b"\xff\xfe\x00")
    with pytest.raises(BadData, match="UTF-16"):
        read_pool([str(file)])
    with pytest.raises(MissingData, match="There is no file"):
        read_pool([str(tmp_path / "none.txt")])
    with pytest.raises(UnknownName, match="dailydialog"):
        read_pool(["dailydialogue"])
    with pytest.raises(InvalidValue, match="Name what to choose"):
        read_pool([])


def test_the_record_of_a_begun_index_may_be_broken(tmp_path: Path) -> None:
    begun = tmp_path / ".index.part"
    begun.mkdir()
    (begun / "begun.json").write_text(json.dumps({"done": 3}))
    (begun / "vectors.f32").write_bytes(b"123")
    assert len(build(tmp_path / "index", pool("yes", "no"), Letters())) == 2
