"""A tokenizer behind a segmenter, without torch: cut before it, whole again after it, the same from disk."""

from pathlib import Path
from typing import Any

from tokenizers import Tokenizer, models, pre_tokenizers

from heartfelt.dialogue import Turn
from heartfelt.models.segmenting import FILE, Segmenting, reopened, segmenting

TEXTS = ["والكتاب جميل؟", "للناس بيوت، ولليل خوفه."]


class Words:
    """What Segmenting asks of a tokenizer, over a plain list of words."""

    pad_token_id = 0

    def __init__(self, texts: list[str]) -> None:
        words = sorted({word for text in texts for word in text.split()})
        self.inner = Tokenizer(
            models.WordLevel({word: i for i, word in enumerate(["<unk>", *words])}, "<unk>")
        )
        self.inner.pre_tokenizer = pre_tokenizers.WhitespaceSplit()

    def __len__(self) -> int:
        return int(self.inner.get_vocab_size())

    def decode(self, ids: list[int], **how: Any) -> str:
        return str(self.inner.decode(ids))

    def save_pretrained(self, folder: Path) -> None:
        folder.mkdir()


def test_cut_before_and_whole_after(tmp_path: Path) -> None:
    cut, counts = segmenting("plain", TEXTS)
    assert cut[0] == "و+ ال+ كتاب جميل ؟"
    assert counts["للناس"] == 1
    inner = Words(cut)
    tokenizer = Segmenting(inner, "plain", counts)
    assert len(tokenizer) == len(inner)
    assert tokenizer.pad_token_id == 0
    turns = tokenizer.cut_turns([Turn("speaker", TEXTS[1], "sad")])
    assert turns == [Turn("speaker", cut[1], "sad")]
    for text in TEXTS:
        ids = inner.inner.encode(tokenizer.cut(text)).ids
        assert 0 not in ids, "every clitic is a token"
        assert tokenizer.decode(ids) == text
    tokenizer.save_pretrained(tmp_path / "model")
    again = reopened(inner, tmp_path / "model")
    assert isinstance(again, Segmenting)
    assert (again.name, again.counts) == ("plain", counts)
    (tmp_path / "model" / FILE).unlink()
    assert reopened(inner, tmp_path / "model") is inner


def test_a_turn_of_signs_alone_stays() -> None:
    tokenizer = Segmenting(Words([]), "none")
    assert tokenizer.cut_turns([Turn("speaker", "ً")]) == [Turn("speaker", "ً")]
