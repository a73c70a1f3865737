"""A talk that goes on: what was said, a step back, and a file to come back to."""

import os
import secrets
from collections.abc import Callable
from pathlib import Path

import msgspec

from heartfelt.agent.agent import Agent
from heartfelt.dialogue import LISTENER, SPEAKER, Dialogue, Reply, Turn
from heartfelt.errors import BadData, HeartfeltError, InvalidValue, MissingData
from heartfelt.files import writing
from heartfelt.text import language_of


class Chat:
    """One talk with an agent: what was said so far is always a whole `Dialogue`, or None."""

    def __init__(self, agent: Agent, dialogue: Dialogue | None = None, kept: Path | None = None) -> None:
        """dialogue: a talk to go on with. kept: a file that is written anew after every reply."""
        self.agent = agent
        self.dialogue = dialogue
        self.kept = kept
        self.last: Reply | None = None

    def say(
        self,
        text: str,
        emotion: str | None = None,
        plan: str | None = None,
        heard: Callable[[str], None] | None = None,
    ) -> Reply:
        """Say something and be answered. If that fails or is interrupted, the talk is as it was."""
        if not text.strip():
            raise InvalidValue("There is nothing to answer: the message is empty")
        asked = self._with(Turn(SPEAKER, text.strip()), language_of(text))
        reply = self.agent.reply(asked, emotion, plan, heard)
        did = max(reply.plan, key=lambda label: reply.plan[label]) if reply.plan else None
        answered = Turn(LISTENER, reply.text, did)
        self.dialogue = msgspec.structs.replace(asked, turns=(*asked.turns, answered))
        self.last = reply
        self._keep()
        return reply

    def undo(self) -> bool:
        """Take back the last message and its answer; False where there is none."""
        if self.dialogue is None:
            return False
        turns = self.dialogue.turns[:-2]
        self.dialogue = msgspec.structs.replace(self.dialogue, turns=turns) if turns else None
        self.last = None
        self._keep()
        return True

    def save(self, path: Path) -> None:
        """As one line of our own format: `heartfelt emotions FILE.jsonl` and every corpus command read it."""
        if self.dialogue is None:
            raise InvalidValue("Nothing has been said yet")
        _write(path, self.dialogue)

    def _with(self, turn: Turn, language: str) -> Dialogue:
        if self.dialogue is None:
            return Dialogue(f"chat-{secrets.token_hex(4)}", (turn,), language=language, source="chat")
        return msgspec.structs.replace(self.dialogue, turns=(*self.dialogue.turns, turn), language=language)

    def _keep(self) -> None:
        if self.kept is None:
            return
        if self.dialogue is not None:
            _write(self.kept, self.dialogue)
        else:  # all of it was taken back
            self.kept.unlink(missing_ok=True)


def history() -> Path:
    """Where the last talk in the terminal is kept, for its owner's eyes alone."""
    state = os.environ.get("XDG_STATE_HOME") or "~/.local/state"
    return Path(state).expanduser() / "heartfelt" / "chat.jsonl"


def put_aside(path: Path) -> None:
    """A new talk begins: the one before stays as chat-before.jsonl (`heartfelt chat --talk` goes on with it)."""
    if path.is_file():
        path.replace(path.with_stem(f"{path.stem}-before"))


def is_talk(path: Path) -> bool:
    try:
        load_talk(path)
    except (HeartfeltError, OSError):
        return False
    return True


def load_talk(path: Path) -> Dialogue:
    """A talk that was saved: a file with one dialogue, whose last word is the listener's."""
    try:
        lines = [line for line in path.read_text(encoding="utf-8").split("\n") if line.strip()]
    except FileNotFoundError:
        raise MissingData(f"There is no talk at {path} to go on with") from None
    except UnicodeDecodeError:
        raise BadData(f"{path} is not a saved talk") from None
    if len(lines) != 1:
        raise BadData(f"{path} is not a saved talk: it has {len(lines)} lines, not one dialogue")
    try:
        talk = Dialogue.from_json(lines[0])
    except InvalidValue as problem:
        raise BadData(f"{path} is not a saved talk: {problem}") from None
    if [turn.speaker for turn in talk.turns] != [SPEAKER, LISTENER] * (len(talk.turns) // 2):
        raise BadData(f"{path} is not a saved talk: speaker and listener do not take turns")
    return talk


def _write(path: Path, dialogue: Dialogue) -> None:
    with writing(path, private=True) as file:
        file.write(dialogue.to_json() + "\n")
