"""EmpatheticDialogues: one person tells of a felt situation, the other listens (rashkin2019).

Source: https://github.com/facebookresearch/EmpatheticDialogues
Licence: CC BY-NC 4.0 (the official LICENSE; ParlAI's README says CC BY, do not rely on it)
Fields: emotion = column `context`, one of 32; situation = `prompt`; the speaker is whoever has turn 1, in the
official file a worker's number, 1 in rebuilt ones; meta keeps `selfeval`, `tags` and, in the official test
file, `candidates` (turn index → list of distractor replies) where they are given.
Known faults: not a quoted CSV: fields are cut at each comma, commas inside a text are written `_comma_`, and
quotation marks stand unescaped (596 turns). Rows have 8 fields, or 9 with candidates; one with a bare comma
is told from these by its misplaced speaker_idx or selfeval. Official counts are 19,533 / 2,770 / 2,547
dialogues. A dialogue is kept up to the first turn that cannot be read.
"""

import difflib
import re
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from heartfelt.corpora.corpus import Corpus, Download, SeenIds
from heartfelt.dialogue import LISTENER, SPEAKER, Dialogue, Turn
from heartfelt.files import Faults, lines, missing_columns
from heartfelt.labels import EMOTIONS

_COLUMNS = ("conv_id", "utterance_idx", "context", "prompt", "speaker_idx", "utterance", "selfeval", "tags")
_SELFEVAL = re.compile(r"[\d|_]*")  # 5|5|5_2|2|5: three ratings by each of the two
_HINT = "EmpatheticDialogues keeps the emotion in 'context' and the situation in 'prompt'"


def read(folder: Path, split: str, faults: Faults) -> Iterator[Dialogue]:
    path = folder / f"{split}.csv"
    numbered = lines(path, faults)
    header = next(numbered, None)
    if header is None:
        return
    names = tuple(name.strip() for name in header[1].split(","))
    if missing := [name for name in _COLUMNS if name not in names]:
        faults.add(path, header[0], missing_columns(missing, names, _HINT))
        return
    if names[: len(_COLUMNS)] != _COLUMNS:
        faults.add(path, header[0], f"the columns stand in another order than {', '.join(_COLUMNS)}")
        return

    seen = SeenIds()
    draft = _Draft("")
    for number, line in numbered:
        fields = line.split(",")
        if fields[0] != draft.id:
            if whole := draft.dialogue():
                yield whole
            draft = _Draft(fields[0])
            if seen.again(draft.id):
                draft.broken = True
                faults.add(path, number, f"conversation '{draft.id}' came before; its rows here are skipped")
                continue
        if not draft.broken and (reason := draft.add(fields)):
            draft.broken = True
            faults.add(path, number, reason)
    if whole := draft.dialogue():
        yield whole


class _Draft:
    """The rows of one conversation, as they come."""

    def __init__(self, id_: str) -> None:
        self.id = id_
        self.turns: list[Turn] = []
        self.broken = False  # a row could not be read: what follows it has lost its context
        self.emotion = self.situation = self.opener = ""
        self.meta: dict[str, Any] = {}

    def add(self, fields: list[str]) -> str | None:
        """Take a row in, or say what is wrong with it."""
        if len(fields) not in (8, 9):
            return f"{len(fields)} fields, not 8 or 9; a comma inside a text is written _comma_"
        id_, index, emotion, situation, person, text = (field.strip() for field in fields[:6])
        if not id_:
            return "no conversation id"
        if index != str(len(self.turns) + 1):
            return f"turn '{index[:20]}' of {id_[:60]} where turn {len(self.turns) + 1} should come"
        if not person.isdecimal() or not _SELFEVAL.fullmatch(fields[6].strip()):
            return "speaker_idx or selfeval is not a number; a comma inside a text is written _comma_"
        text = text.replace("_comma_", ",").strip()
        if not text:
            return "an empty utterance"
        if emotion not in EMOTIONS:
            return _unknown_emotion(emotion)
        if self.turns and emotion != self.emotion:
            return f"emotion {emotion} in a conversation that began as {self.emotion}"
        if not self.turns:
            self.emotion, self.situation, self.opener = emotion, situation.replace("_comma_", ","), person
        for name, value in zip(("selfeval", "tags"), fields[6:8], strict=True):
            if value.strip():
                self.meta[name] = value.strip()
        if len(fields) == 9 and fields[8].strip():
            replies = [c.replace("_comma_", ",").replace("_pipe_", "|").strip() for c in fields[8].split("|")]
            self.meta.setdefault("candidates", {})[str(len(self.turns))] = replies
        self.turns.append(Turn(SPEAKER if person == self.opener else LISTENER, text))
        return None

    def dialogue(self) -> Dialogue | None:
        if not self.turns:
            return None
        return Dialogue(
            id=self.id,
            turns=tuple(self.turns),
            emotion=self.emotion,
            situation=self.situation or None,
            source=CORPUS.name,
            meta=self.meta,
        )


def _unknown_emotion(name: str) -> str:
    near = difflib.get_close_matches(name, EMOTIONS, n=1)
    return f"unknown emotion '{name[:40]}'" + (f"; near: {near[0]}" if near else "")


def split_of_ids(folder: Path, faults: Faults) -> dict[str, str]:
    """Conversation id → split, for corpora that annotate EmpatheticDialogues."""
    found: dict[str, str] = {}
    for split in CORPUS.splits:
        for number, line in lines(folder / f"{split}.csv", faults):
            if number > 1:
                found[line.split(",", 1)[0]] = split
    return found


CORPUS = Corpus(
    name="empathetic_dialogues",
    about=__doc__,
    read=read,
    folder="empathetic_dialogues",
    shows="train.csv",
    splits=("train", "valid", "test"),
    downloads=(
        Download(
            "https://dl.fbaipublicfiles.com/parlai/empatheticdialogues/empatheticdialogues.tar.gz",
            sha256="240c492cb6199a315722f716bfcc14f13ea6605f1cec67349153b606be92f6f2",  # ParlAI's build.py
            inside="empatheticdialogues",
        ),
    ),
)
