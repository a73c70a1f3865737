"""Reddit's monthly comment dumps (RC_2015-01.zst …), rebuilt into threads.

Source: the Pushshift archive of Reddit comments; put the files in the folder `reddit_dumps`
Licence: users' content; for research only
Fields: turns are comments, people are a, b, c… in order of appearance; meta keeps `subreddit` and `link`.
Known faults: top-level comments answer a post that is not in these files. Deleted comments are left out, and
so what hangs on them opens a dialogue of its own. JSON lines in zstd with a 2 GiB window; .gz and plain too.

How: every comment → reply edge occurs in exactly one dialogue. A comment's first answer goes on with its
dialogue; every other answer opens a new one that begins with the comment answered. Memory does not grow with
the file: comments are first parted by thread into files on disk (in $TMPDIR, about as large as the dump
unpacked), which are then rebuilt one at a time.
"""

import html
import tempfile
from collections.abc import Iterator
from contextlib import ExitStack
from pathlib import Path
from zlib import crc32

import msgspec

from heartfelt.corpora.corpus import Corpus
from heartfelt.dialogue import Dialogue, Turn
from heartfelt.errors import MissingData
from heartfelt.files import Faults, lines

_PARTS_PER_GIB = 64  # packed gibibytes; a part then unpacks to well under a gigabyte
_GONE = ("[deleted]", "[removed]")


class _Comment(msgspec.Struct):
    id: str
    parent_id: str  # t1_… is a comment, t3_… the post
    link_id: str  # the post that the thread hangs on
    body: str
    author: str = ""
    subreddit: str = ""
    created_utc: float | str = 0  # some dumps quote it

    @property
    def when(self) -> float:
        try:
            return float(self.created_utc)
        except ValueError:
            return 0.0


# A comment on its way through the parts: which file and line it came from, and itself.
_Placed = tuple[int, int, _Comment]


def read(folder: Path, split: str, faults: Faults) -> Iterator[Dialogue]:
    paths = sorted(path for path in folder.glob("RC_*") if path.suffix in (".zst", ".gz", ".jsonl", ""))
    if not paths:
        raise MissingData(
            f"There are no files RC_*.zst in {folder}; put Reddit's monthly comment dumps there"
        )
    size = sum(path.stat().st_size for path in paths)
    parts = 1 + min(1000, _PARTS_PER_GIB * size >> 30)
    with tempfile.TemporaryDirectory(prefix="heartfelt-reddit-") as scratch:
        files = [Path(scratch) / f"{part}.jsonl" for part in range(parts)]
        _part_by_thread(paths, files, faults)
        for file in files:
            yield from _threads(file, paths, faults)


def _part_by_thread(paths: list[Path], files: list[Path], faults: Faults) -> None:
    decode, encode = msgspec.json.Decoder(_Comment).decode, msgspec.json.encode
    with ExitStack() as stack:
        outs = [stack.enter_context(file.open("wb")) for file in files]
        for index, path in enumerate(paths):
            for number, line in lines(path, faults):
                try:
                    comment = decode(line)
                except (msgspec.MsgspecError, RecursionError) as problem:
                    faults.add(path, number, f"not a comment: {problem}")
                    continue
                if comment.body.strip() and comment.body not in _GONE:
                    out = outs[crc32(comment.link_id.encode()) % len(outs)]
                    out.write(encode((index, number, comment)) + b"\n")


def _threads(file: Path, paths: list[Path], faults: Faults) -> Iterator[Dialogue]:
    """The dialogues of all threads in one part."""
    comments: dict[str, _Comment] = {}
    decode = msgspec.json.Decoder(_Placed).decode
    with file.open("rb") as records:
        for record in records:
            index, number, comment = decode(record)
            if comment.id in comments:
                faults.add(paths[index], number, f"comment '{comment.id[:20]}' came before")
            comments.setdefault(comment.id, comment)
    answers: dict[str, list[_Comment]] = {}
    for comment in sorted(comments.values(), key=lambda c: (c.when, c.id)):
        answers.setdefault(comment.parent_id.removeprefix("t1_"), []).append(comment)
    for comment in comments.values():
        parent = comment.parent_id.removeprefix("t1_")
        opener = comments.get(parent)
        if opener is None:
            if comment.id in answers:  # a comment nobody answered is not a dialogue
                yield _dialogue([comment], answers)
        elif answers[parent][0] is not comment:
            yield _dialogue([opener, comment], answers)


def _dialogue(path: list[_Comment], answers: dict[str, list[_Comment]]) -> Dialogue:
    opened = path[-1]
    seen = {comment.id for comment in path}
    while (further := answers.get(path[-1].id)) and further[0].id not in seen:
        path.append(further[0])
        seen.add(further[0].id)
    people: dict[str, str] = {}
    turns = []
    for comment in path:
        # Deleted accounts are not one person: each of their comments counts as somebody new.
        who = comment.author if comment.author not in ("", *_GONE) else comment.id
        name = people.setdefault(who, _letters(len(people)))
        turns.append(Turn(name, html.unescape(comment.body).strip() or comment.body))
    meta = {"subreddit": opened.subreddit, "link": opened.link_id}
    return Dialogue(f"{opened.link_id}-{opened.id}", tuple(turns), source=CORPUS.name, meta=meta)


def _letters(number: int) -> str:
    """0 → a, 25 → z, 26 → aa, as spreadsheet columns go."""
    name = ""
    while number >= 0:
        name = chr(ord("a") + number % 26) + name
        number = number // 26 - 1
    return name


CORPUS = Corpus(
    name="reddit_dumps", about=__doc__, read=read, folder="reddit_dumps", shows="RC_*", splits=("all",)
)
