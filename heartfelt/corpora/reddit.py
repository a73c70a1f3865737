"""Reddit pairs: a comment and an answer to it, single-turn.

Source: a published sample of Reddit's news, worldnews, movies and other forums of 2015
Licence: users' content; for research only
Fields: two turns; meta keeps the `file` and the forum's id (`forum`).
Known faults: unfiltered language. Six of 352,570 pairs have an empty side.
"""

import html
from collections.abc import Iterator
from pathlib import Path

import msgspec

from heartfelt.corpora.corpus import Corpus, alternating
from heartfelt.dialogue import Dialogue
from heartfelt.files import Faults, lines


class _Pair(msgspec.Struct):
    file: str
    doc: str
    q: str
    aid: int
    a: str


def read(folder: Path, split: str, faults: Faults) -> Iterator[Dialogue]:
    path = folder / "reddit_pairs_2015.jsonl.gz"
    decode = msgspec.json.Decoder(_Pair).decode
    for number, line in lines(path, faults):
        try:
            pair = decode(line)
        except (msgspec.MsgspecError, RecursionError) as problem:
            faults.add(path, number, f"not a pair: {problem}")
            continue
        texts = [html.unescape(text).strip() for text in (pair.q, pair.a)]
        if not all(texts):
            faults.add(path, number, "an empty comment or answer")
            continue
        meta = {"file": pair.file, "forum": pair.doc}
        # The line number is part of the id: nothing else about a pair is promised to be unique.
        yield Dialogue(f"{number}-{pair.aid}", alternating(texts), source=CORPUS.name, meta=meta)


CORPUS = Corpus(
    name="reddit", about=__doc__, read=read, folder="reddit", shows="reddit_pairs_*", splits=("all",)
)
