"""Broken files by the thousand: no traceback, no hang, every fault with its file and line.

Two kinds. Known damage: one line of a sound file is ruined, and a fault must stand at exactly that line.
Blind damage: bytes are changed, cut, doubled and moved at random; whatever happens must be a Dialogue, a fault
or a HeartfeltError.
"""

import gzip
import random
import shutil
import time
from pathlib import Path

import pytest

from heartfelt import corpora
from heartfelt.corpora import own
from heartfelt.errors import BadData, MissingData
from heartfelt.files import Fault, Faults

ROUNDS = 130  # a corpus; with eighteen corpora well over 2,000 files
OURS = ("own.jsonl", "own.parquet")
NAMES = [*corpora.CORPORA, *OURS]
PATIENCE = 10  # seconds for a file of a few hundred bytes


def copy_of(name: str, fixtures: Path, to: Path) -> tuple[str, list[Path]]:
    """A data folder with the fixture of one corpus in it, what to load, and the files that hold it."""
    shutil.copytree(fixtures, to, dirs_exist_ok=True)
    if name in OURS:
        with (to / name).open("wb") as file:
            own.write(corpora.load("empathetic_dialogues", data=fixtures), file, Path(name).suffix)
        return str(to / name), [to / name]
    folder = to / corpora.CORPORA[name].folder
    files = sorted(path for path in folder.rglob("*") if path.is_file())
    if name == "reddit":
        files = [path for path in files if path.suffix == ".gz"]
    if name in ("intent_utterances", "intent_ngrams", "intent_seeds", "empathetic_intents"):
        kind = {"intent_utterances": "train_data", "intent_ngrams": "lexically", "intent_seeds": "manual"}
        files = [path for path in files if kind.get(name, "annotated") in str(path.relative_to(folder))]
    if name == "chitchat":
        files = [path for path in files if path.suffix in (".yml", ".tsv")]
    return name, files


def check_load(name: str, data: Path) -> list[Fault]:
    faults = Faults()
    started = time.monotonic()
    try:
        for _ in corpora.load(name, data=data, faults=faults):
            pass
    except (BadData, MissingData) as problem:  # no other: a value that we made ourselves is never invalid
        assert "\n" not in str(problem)
    assert time.monotonic() - started < PATIENCE
    assert all(fault.line >= 1 and fault.reason and "\n" not in fault.reason for fault in faults.first)
    return faults.first


def unpacked(path: Path) -> bytes:
    raw = path.read_bytes()
    return gzip.decompress(raw) if path.suffix == ".gz" else raw


def put(path: Path, raw: bytes) -> None:
    path.write_bytes(gzip.compress(raw) if path.suffix == ".gz" else raw)


@pytest.mark.parametrize(
    "name", [name for name in NAMES if name not in ("20news", "own.parquet")]
)  # without lines
def test_a_ruined_line_is_reported_where_it_stands(name: str, fixtures: Path, tmp_path: Path) -> None:
    load, files = copy_of(name, fixtures, tmp_path)
    for path in files:
        sound = unpacked(path)
        rows = sound.split(b"\n")
        for index in range(len(rows) - 1):
            put(path, b"\n".join([*rows[:index], b"\xff\xfe ruined \xff", *rows[index + 1 :]]))
            faults = check_load(load, tmp_path)
            assert any(f.path == path and f.line == index + 1 for f in faults), (path.name, index + 1, faults)
        put(path, sound)


@pytest.mark.parametrize("name", NAMES)
def test_random_damage_never_breaks_the_reader(name: str, fixtures: Path, tmp_path: Path) -> None:
    load, files = copy_of(name, fixtures, tmp_path)
    draw = random.Random(f"fuzz {name}")
    for _ in range(ROUNDS):
        path = draw.choice(files)
        sound = path.read_bytes()
        packed = path.suffix == ".gz" and draw.random() < 0.5  # damage the archive, or what is in it
        raw = bytearray(sound if packed or path.suffix != ".gz" else gzip.decompress(sound))
        for _ in range(draw.randint(1, 4)):
            damage(raw, draw)
        path.write_bytes(bytes(raw) if packed or path.suffix != ".gz" else gzip.compress(raw))
        check_load(load, tmp_path)
        path.write_bytes(sound)


SPICE = [
    b'"',
    b",",
    b"\t",
    b"\n",
    b"\r",
    b"\0",
    b"\xff",
    b"\xef\xbb\xbf",
    b"_comma_",
    b"|",
    b" SOC ",
    b"{",
    b"[" * 2000,
    b" <SEP> ",
    b"__eou__",
    b" +++$+++ ",
    b"- - ",
    b"&a *a",
    b"99999999999999999999",
    b"-1",
    b"1e999",
    b"NaN",
    b"null",
    b"x" * 200_000,
    "\u202e\U0001f600\ud7ff".encode(),
    b"'",
    b"\\u0000",
    b"emotion",
    b"!!python/object",
]


def damage(raw: bytearray, draw: random.Random) -> None:
    at = draw.randrange(len(raw) + 1)
    to = min(len(raw), at + draw.randint(1, 40))
    match draw.randrange(6):
        case 0:
            raw[at:at] = draw.choice(SPICE)
        case 1:
            raw[at:to] = b""
        case 2:
            raw[at:to] = draw.randbytes(to - at)
        case 3:
            del raw[at:]
        case 4:  # a piece twice
            raw[at:at] = raw[at:to]
        case 5:  # lines in another order
            rows = raw.split(b"\n")
            draw.shuffle(rows)
            raw[:] = b"\n".join(rows)
