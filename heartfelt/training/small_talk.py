"""Plain talk to learn from: chit-chat, and DailyDialog. Neither has splits that one can use as they are."""

from collections.abc import Iterator
from pathlib import Path
from zlib import crc32

from heartfelt import corpora
from heartfelt.dialogue import Dialogue
from heartfelt.files import Faults
from heartfelt.text import normalized

_PARTS = {"en": ("chatterbot_english", "personality_chat"), "ar": ("chatterbot_arabic",)}
# Chit-chat that is not neutral, or that repeats a few prompts a hundred times.
_NOT_SMALL_TALK = ("emotion", "psychology", "tech_support", "coding")


def small_talk(split: str, data: Path | None, language: str = "en") -> Iterator[Dialogue]:
    """Chit-chat, each prompt once. It has no splits: equal prompts go together, by a hash of their words."""
    seen = set()
    for part in _PARTS[language]:
        for dialogue in corpora.load("chitchat", part, data=data, faults=Faults()):
            key = normalized(dialogue.turns[0].text)
            if dialogue.meta["category"] in _NOT_SMALL_TALK or key in seen or split_of(key) != split:
                continue
            seen.add(key)
            yield dialogue


def daily_dialogues(split: str, data: Path | None) -> Iterator[Dialogue]:
    """DailyDialog, labelled throughout; of valid and test, what does not begin as a dialogue of train does."""
    known = set()
    if split != "train":
        known = {normalized(dialogue.turns[0].text) for dialogue in _labelled("train", data)}
    for dialogue in _labelled("validation" if split == "valid" else split, data):
        if normalized(dialogue.turns[0].text) not in known:
            yield dialogue


def split_of(text: str) -> str:
    """A tenth for test, a tenth for valid, by a hash of the words: the same for the same words, always."""
    tenth = crc32(normalized(text).encode()) % 10
    return "test" if tenth == 0 else "valid" if tenth == 1 else "train"


def _labelled(published: str, data: Path | None) -> Iterator[Dialogue]:
    for dialogue in corpora.load("dailydialog", published, data=data, faults=Faults()):
        if all(turn.label for turn in dialogue.turns):
            yield dialogue
