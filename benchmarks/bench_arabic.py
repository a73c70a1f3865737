"""Arabic segmentation: accuracy on 200 words with known analyses, words a second, vocabulary before and after.

python benchmarks/bench_arabic.py                 every segmenter that is here
python benchmarks/bench_arabic.py --wrong plain   what it gets wrong
"""

import argparse
import time
from collections import Counter
from collections.abc import Iterator
from pathlib import Path

from heartfelt import corpora
from heartfelt.arabic import SEGMENTERS, Segmenter, open_segmenter, segment
from heartfelt.arabic.plain import count
from heartfelt.arabic.prepare import ARABIC, tokens
from heartfelt.errors import HeartfeltError
from heartfelt.files import Faults

WORDS = Path(__file__).parent.parent / "tests" / "arabic" / "words.tsv"
TEXTS = {
    "arabic_ed_test": ("train", "valid", "test"),
    "emotone": ("all",),
    "chitchat": ("chatterbot_arabic",),
}


def known() -> list[tuple[str, tuple[str, ...], str]]:
    """Word, its parts with their marks, and what it tests."""
    rows = [line.split("\t") for line in WORDS.read_text(encoding="utf-8").splitlines()[1:]]
    return [(word, tuple(analysis.split()), kind) for word, analysis, kind in rows]


def accuracy(cut: Segmenter) -> tuple[int, list[tuple[str, tuple[str, ...], tuple[str, ...]]]]:
    """How many are right, and the others: word, what it is, what was said."""
    wrong = [(w, parts, tuple(cut(w))) for w, parts, _ in known() if tuple(cut(w)) != parts]
    return len(known()) - len(wrong), wrong


def texts(name: str) -> Iterator[str]:
    """Every turn of a corpus once; ED's are all three splits that are drawn from it."""
    for split in TEXTS[name]:
        for dialogue in corpora.load(name, split, faults=Faults()):
            yield from (turn.text for turn in dialogue.turns)


def speed(cut: Segmenter, said: list[str]) -> tuple[float, float]:
    """Arabic words a second of processor time: each seen for the first time, and whole texts when all are known."""
    words = list(dict.fromkeys(token for text in said for token in tokens(text) if ARABIC.fullmatch(token)))
    cut.forget()  # type: ignore[attr-defined]
    begun = time.process_time()
    for word in words:
        cut(word)
    first = len(words) / (time.process_time() - begun)
    total = sum(bool(ARABIC.fullmatch(token)) for text in said for token in tokens(text))
    begun = time.process_time()
    for text in said:
        segment(text, cut)
    return first, total / (time.process_time() - begun)


def main() -> None:
    asked = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    asked.add_argument("--wrong", choices=list(SEGMENTERS), help="list what this segmenter gets wrong")
    asked.add_argument("--corpus", default="arabic_ed_test", choices=TEXTS)
    chosen = asked.parse_args()
    if chosen.wrong:
        for word, is_, found in accuracy(open_segmenter(chosen.wrong))[1]:
            print(f"{word}\t{' '.join(is_)}\t{' '.join(found)}")
        return
    try:
        said = list(texts(chosen.corpus))
    except HeartfeltError as problem:
        print(f"Without texts, so without speed and vocabulary: {problem}")
        said = []
    cutters: list[tuple[str, Segmenter]] = []
    for name in SEGMENTERS:
        try:
            cutters.append((name, open_segmenter(name)))
        except HeartfeltError as problem:
            print(f"{name}: left out ({problem})")
    if said:
        cutters.insert(1, ("plain, with words counted", open_segmenter("plain", count(said))))
        raw = Counter(word for text in said for word in text.split())
        whole = Counter(word for text in said for word in " ".join(tokens(text)).split())
        print(f"{chosen.corpus}: {len(said):,} texts, {sum(raw.values()):,} words between spaces")
        print(f"vocabulary: {len(raw):,} between spaces, {len(whole):,} prepared")
    for name, cut in cutters:
        right, _ = accuracy(cut)
        line = f"{name:<26} right {right}/{len(known())}"
        if said:
            first, again = speed(cut, said)
            pieces = Counter(piece for text in said for piece in segment(text, cut).split())
            line += f"  {first:>9,.0f} words/s new  {again:>9,.0f} words/s cached  vocabulary {len(pieces):,}"
            twice = sum(n > 1 for n in pieces.values())
            line += f" ({twice:,} seen twice)  {sum(pieces.values()) / sum(raw.values()):.2f} pieces a word"
        print(line)


if __name__ == "__main__":
    main()
