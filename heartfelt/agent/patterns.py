"""Sheets of patterns: a readable YAML file that says what to find in a message, and what only sounds like it.

    drop: just | really                    # words that change nothing: left out before anything is searched
    spellings: {myself: my self | meself}  # other ways to write a word
    words: {want: want | wish | need}      # {want} in a pattern stands for any of these
    set_aside:                             # what is said and not meant: taken out, the rest is searched
      figurative: [die laughing]
    contexts:                              # what a whole message may be about
      recovered: {says: [years ago], also: [im happy now], but_not: [again]}
    groups:
      - reason: suicidal intent
        unless: [recovered]                # contexts in which the group does not count
        patterns: ["{want} ... kill myself"]

A pattern is a regular expression over plain words (see `plain`). Between words, `...` stands for up to five others
and `{rest}` for any number, both within a sentence.
"""

import re
import unicodedata
from collections.abc import Iterable
from importlib import resources
from pathlib import Path
from typing import TypeVar

import msgspec
import yaml

from heartfelt.errors import BadData, MissingData

FOLDER = Path(str(resources.files("heartfelt"))) / "assets" / "guard"
LONGEST = 10_000  # characters of a message that are read: half of them from its start, half from its end

# One letter for each that Arabic writes in several ways; none for vowel signs and stretching.
_ARABIC = str.maketrans("أإآٱىیةؤئ", "ااااييهوي", "ـًٌٍَُِّْٰٕٓٔ")
_EMPHASIS = re.compile(r"(?<![^\W_])[*_~]+|[*_~]+(?![^\W_])")  # **kill** → kill, but k*ll stays
_JOINED = re.compile(r"['’‘`´ʼ]|(?<=\b\w)\.(?=\w\b)")  # don't → dont; s.u.i.c.i.d.e → suicide
_END = re.compile(r"(?<!\.)\.(?!\.)|[!?؟؛;\n]+")  # "..." is a pause and no end
_STRETCHED = re.compile(r"([aeiouyاويه])\1{2,}|([^\W\d_])\2{2,}")  # dieee → die, killlll → kill
_SPACED = re.compile(r"(?<!\S)(?:[^\W\d_] ){3,}[^\W\d_](?!\S)")  # k i l l → kill
_TOKEN = re.compile(r"[\w*@$]+|\.")
_GAP = "(?: [^ .]+){0,5} "
_REST = "(?: [^ .]+)*"


T = TypeVar("T")


def plain(text: str) -> str:
    """Lower-case words, one space between, no apostrophes, a dot where a sentence ends: "I’m DONE!" → "im done ."."""
    if len(text) > LONGEST:
        text = f"{text[: LONGEST // 2]}\n{text[-LONGEST // 2 :]}"
    text = unicodedata.normalize("NFKC", text).lower().translate(_ARABIC)
    text = "".join(
        char for char in text if char.isascii() or unicodedata.category(char) != "Cf"
    )  # soft hyphens …
    text = _END.sub(" . ", _JOINED.sub("", _EMPHASIS.sub("", text)))
    text = _STRETCHED.sub(lambda run: run[1] or 2 * run[2], text)
    return _SPACED.sub(lambda run: run[0].replace(" ", ""), " ".join(_TOKEN.findall(text)))


class Context(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    says: tuple[str, ...]
    also: tuple[str, ...] = ()
    but_not: tuple[str, ...] = ()


class Group(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    reason: str
    patterns: tuple[str, ...]
    unless: tuple[str, ...] = ()


class Written(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """A sheet as its file has it."""

    groups: tuple[Group, ...]
    drop: str = ""
    spellings: dict[str, str] = {}
    words: dict[str, str] = {}
    set_aside: dict[str, tuple[str, ...]] = {}
    contexts: dict[str, Context] = {}


class Sheet:
    """A file of patterns, ready to search."""

    def __init__(self, path: Path) -> None:
        self._path, written = path, read_sheet(path, Written)
        self._words = {"rest": _REST}
        for name, ways in written.words.items():  # a word may be made of those above it
            self._words[name] = self._filled(f"words.{name}", _any(ways))
        self._drop = self._compiled("drop", [_any(written.drop)]) if written.drop else None
        self._meant = list(written.spellings)
        # The number of the group that matched says which word was meant.
        spelt = [f"({_any(ways)})" for ways in written.spellings.values()]
        self._spellings = self._compiled("spellings", spelt) if spelt else None
        self._aside = [self._compiled(f"set_aside.{name}", said) for name, said in written.set_aside.items()]
        self._contexts = {
            name: [
                self._compiled(f"contexts.{name}", part) if part else None
                for part in (context.says, context.also, context.but_not)
            ]
            for name, context in written.contexts.items()
        }
        self.groups = written.groups
        self._patterns = [self._compiled(group.reason, group.patterns) for group in written.groups]
        for group in written.groups:
            if unknown := sorted(set(group.unless) - set(written.contexts)):
                raise BadData(f"{path}: {group.reason}: there is no context {', '.join(unknown)}")

    def find(self, text: str) -> dict[str, str]:
        """Reason → the words that gave it, in the order of the file."""
        said = f". {self.read(text)}"  # a message begins as a sentence does
        about = {name for name in self._contexts if self._holds(name, said)}
        for phrases in self._aside:
            said = phrases.sub(" _ ", said)  # neither a word of a pattern nor the end of a sentence
        found: dict[str, str] = {}
        for group, patterns in zip(self.groups, self._patterns, strict=True):
            if not about.intersection(group.unless) and (hit := patterns.search(said)):
                found.setdefault(group.reason, hit[0])
        return found

    def read(self, text: str) -> str:
        """The plain text as this sheet's patterns see it."""
        said = plain(text)
        if self._spellings:
            for _ in range(2):  # "killin my self": the second needs the first
                said = self._spellings.sub(lambda hit: self._meant[(hit.lastindex or 1) - 1], said)
        return " ".join(self._drop.sub("", said).split()) if self._drop else said

    def _holds(self, name: str, said: str) -> bool:
        says, also, but_not = self._contexts[name]
        return bool(
            says
            and says.search(said)
            and (not also or also.search(said))
            and not (but_not and but_not.search(said))
        )

    def _compiled(self, where: str, patterns: Iterable[str]) -> re.Pattern[str]:
        inner = "|".join(self._filled(where, pattern) for pattern in patterns)
        try:
            return re.compile(rf"(?<!\S)(?:{inner})(?!\S)")
        except re.error as problem:
            raise BadData(f"{self._path}: {where}: not a regular expression: {problem}") from None

    def _filled(self, where: str, pattern: str) -> str:
        """The pattern with its {words} and gaps written out."""

        def meaning(name: re.Match[str]) -> str:
            if name[1] not in self._words:
                known = ", ".join(self._words)
                raise BadData(f"{self._path}: {where}: there is no {{{name[1]}}} above; there is {known}")
            return self._words[name[1]]

        pattern = pattern.replace(" {rest}", "{rest}")  # its words bring their own spaces
        return re.sub(r"\{([a-z_]+)\}", meaning, pattern).replace(" ... ", _GAP)


def _any(ways: str) -> str:
    """ "a | b c" → either of them. A long list may go over lines, also inside brackets."""
    return f"(?:{re.sub(r' ?[|] ?', '|', ' '.join(ways.split()))})"


def read_sheet(path: Path, kind: type[T]) -> T:
    """A YAML file of the guard's, as what it should be; or an error that says what is wrong with it."""
    try:
        return msgspec.convert(yaml.safe_load(path.read_text(encoding="utf-8")), kind)
    except OSError as problem:
        raise MissingData(f"{path} cannot be read: {problem.strerror}") from None
    except (yaml.YAMLError, UnicodeDecodeError, msgspec.ValidationError) as problem:
        raise BadData(f"{path} cannot be read: {' '.join(str(problem).split())}") from None
