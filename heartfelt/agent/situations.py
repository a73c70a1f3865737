"""Replies for situations that are known: found by messages like the one that was written, and there at once.

A small model that writes loses the thread, and people rate replies that were chosen above those that were made
(rashkin2019's Table 2). So the agent first looks whether somebody was in the same situation. A folder of text files
holds them (`heartfelt corpora describe heartfelt_situations` says how they are written): ours, or your own.
"""

import hashlib
import zipfile
from collections.abc import Iterator, Mapping, Sequence
from contextlib import suppress
from functools import cached_property
from pathlib import Path
from typing import Any, NamedTuple

import msgspec
import numpy as np
from numpy.typing import NDArray

from heartfelt.agent.listen import SMALL_TALK, Heard, Listener, groups
from heartfelt.corpora.heartfelt_situations import SHIPPED, Situation, situations
from heartfelt.dialogue import LISTENER, Candidate, Dialogue, Turn
from heartfelt.errors import HeartfeltError
from heartfelt.files import Faults, cache_folder, writing
from heartfelt.labels import GROUPS
from heartfelt.text import same_key, words

NEAREST = 3  # situations whose replies are considered
NEAR = 0.05  # a further situation may be so much less like the message than the first one
MOOD = 0.02  # what the logarithm of a mood's chance adds to likeness: best on situations' own messages (docs/log.md)
ALIKE = (
    0.46  # from this likeness on a message is taken to be of a situation's kind; below it moods fit better
)
PLAIN_ALIKE = 0.40  # the same for small talk
ANSWERS_ALIKE = 0.46  # the same for an answer within a talk, read with what it answers
SURELY_ANSWERS = 0.50  # and where the situation that was told of before is known, which else goes on
FEELS_ALIKE = 0.03  # so much less like a message counts a situation's mood e times less
NEW_SUBJECT = 4  # words: what is shorter, within a talk, answers; it does not open another subject
OPENS_ALIKE = 0.52  # the likeness by which what is said within a talk is taken to open one
TURNED_ALIKE = 0.45  # and where it sounds glad in a sad talk, or sad in a glad one
TURNED = 0.8  # as surely as this
VECTORS = "vectors.npz"
_GLAD, _SORRY = ("joy", "love"), ("sadness", "anger", "fear")  # groups of emotions; surprise is either


Told = tuple[Situation, list[tuple[Turn, ...]]]  # and messages of one kind


class Found(NamedTuple):
    situation: Situation
    like: float


class Known:
    """Situations, ready to be asked."""

    name = "heartfelt-situations"
    languages = ("en",)  # that the matcher reads

    def __init__(self, listener: Listener, folder: Path = SHIPPED) -> None:
        self._listener, self._folder = listener, folder
        self.situations = tuple(own(folder))
        openings: list[Told] = [(one, [m for m in one.messages if len(m) == 1]) for one in self.situations]
        answers: list[Told] = [(one, [m for m in one.messages if len(m) > 1]) for one in self.situations]
        # Openings first, then answers to something the listener said.
        self._told = [told for told in (*openings, *answers) if told[1]]
        self._openings = sum(bool(messages) for _, messages in openings)

    def __len__(self) -> int:
        return len(self.situations)

    def say(
        self,
        dialogue: Dialogue,
        plans: Mapping[str, float] | None = None,
        emotion: str | None = None,
        felt: Heard | None = None,
        last: Heard | None = None,
    ) -> list[Candidate]:
        """The replies of the nearest situations; none where nothing is near.

        plans: label → how wanted it is; what is not wanted at all is not said, nor what was said in the talk before.
        emotion: how somebody says to feel; situations of another kind are left out. felt: what was heard; situations of
        that mood are nearer. last: what is heard of the last turn alone.
        """
        said = {same_key(turn.text) for turn in dialogue.turns}
        asked = any("?" in turn.text for turn in dialogue.turns if turn.speaker == LISTENER)
        found, still = self._found(dialogue.turns, felt, last)
        return [
            Candidate(reply.text, {"like": like}, situation.name)
            for situation, like in found
            if emotion is None or _group(emotion) == _group(situation.emotion)
            for reply in situation.replies
            if (not plans or plans.get(reply.label or "", 0.0) > 0) and same_key(reply.text) not in said
            if not (still and asked and "?" in reply.text)  # nobody is asked again about what they have told
        ]

    def find(
        self,
        turns: Sequence[Turn],
        felt: Heard | None = None,
        last: Heard | None = None,
        count: int = NEAREST,
    ) -> list[Found]:
        """The situations that a talk's last turn is in, the nearest first. felt: what was heard of the talk; last: of
        that turn alone."""
        return self._found(turns, felt, last, count)[0]

    def feels(self, turns: Sequence[Turn], felt: Heard) -> Heard:
        """What was heard of a first message, with a second opinion: how people feel whose situations are like it. The
        encoder takes words for what they mean; of messages told sideways it is surely wrong, glad for sad or sad for
        glad, about one in five, with this one in seven (docs/log.md)."""
        if len(turns) > 1 or not felt.emotion:
            return felt
        likes = self._vectors[: self._openings] @ self._listener.contexts([turns])[0]
        weights = np.exp((likes - likes.max()) / FEELS_ALIKE)
        others = dict.fromkeys(felt.emotion, 1e-3 * float(weights.sum()))
        for (one, _), weight in zip(self._told[: self._openings], weights.tolist(), strict=True):
            if one.emotion in others:
                others[one.emotion] += weight
        both = {name: (chance * others[name]) ** 0.5 for name, chance in felt.emotion.items()}
        total = sum(both.values())
        emotion = {name: chance / total for name, chance in both.items()}
        return msgspec.structs.replace(felt, emotion=emotion, group=groups(emotion))

    def _found(
        self, turns: Sequence[Turn], felt: Heard | None, last: Heard | None, count: int = NEAREST
    ) -> tuple[list[Found], bool]:
        """And whether it is still the one that was told of before."""
        openings, answers = slice(0, self._openings), slice(self._openings, len(self._told))
        if len(turns) < 2 or turns[-2].speaker != LISTENER:
            least = PLAIN_ALIKE if felt and felt.neutral > SMALL_TALK else ALIKE
            return self._near(turns[-1:], openings, least, self._moods(openings, felt), count), False
        still = self._before(turns, felt)
        turned = bool(still and last and _turned(still[0].situation.emotion, last))
        # Somebody who begins to tell something else is not answering, and what was heard before is not its mood.
        if len(words(turns[-1].text)) >= NEW_SUBJECT:
            plain = felt is not None and felt.neutral > SMALL_TALK
            other = np.array([(one.emotion is None) != plain for one, _ in self._told[openings]])
            more = np.where(other, -1, self._moods(openings, last) if turned else 0)
            if found := self._near(
                turns[-1:], openings, TURNED_ALIKE if turned else OPENS_ALIKE, more, count
            ):
                return found, False
        surely = SURELY_ANSWERS if still else ANSWERS_ALIKE
        if found := self._near(turns[-2:], answers, surely, self._moods(answers, felt), count):
            return found, False
        return ([], False) if turned else (still, True)

    def _before(self, turns: Sequence[Turn], felt: Heard | None) -> list[Found]:
        """The situation that was last told of before a talk's last turn, if any."""
        if felt and felt.neutral > SMALL_TALK:
            return []  # they talk of something else now
        openings = slice(0, self._openings)
        for turn in reversed([turn for turn in turns[:-1] if turn.speaker != LISTENER]):
            if found := self._near([turn], openings, ALIKE, self._moods(openings, felt), 1):
                return found
        return []

    def _near(
        self, asked: Sequence[Turn], where: slice, least: float, more: NDArray[np.floating[Any]], count: int
    ) -> list[Found]:
        """Those of a part that are at least so like what is asked for; more: what each has to add to its likeness."""
        likes = self._vectors[where] @ self._listener.contexts([asked])[0] + more
        nearest = np.argsort(-likes)[:count].tolist()
        return [
            Found(self._told[where][place][0], float(likes[place]))
            for place in nearest
            if likes[place] >= max(least, likes[nearest[0]] - NEAR)
        ]

    def _moods(self, where: slice, felt: Heard | None) -> NDArray[np.floating[Any]]:
        if not felt or not felt.emotion:
            return np.zeros(len(self._told[where]))
        chances = [mood_chance(one.emotion, felt) for one, _ in self._told[where]]
        return MOOD * np.log(np.maximum(chances, 1e-3))

    def prepare(self) -> None:
        """What takes a while is done now, not when somebody waits for a reply."""
        self._vectors  # noqa: B018

    def keep(self) -> Path:
        """Write the vectors beside the situations, so that nobody has to wait for them at a first start."""
        path = self._folder / VECTORS
        _write(path, self._centres(), self._made_of)
        return path

    def _centres(self) -> NDArray[np.float32]:
        """(told, size): halfway between the mean of a situation's messages and that of its replies.

        The nearest message is a worse guide: it is near by its details, which do not matter (docs/log.md).
        """
        messages = [message for _, told in self._told for message in told]
        replies = [reply.text for one, _ in self._told for reply in one.replies]
        vectors, answers = self._listener.contexts(messages), self._listener.replies(replies)
        ends = np.cumsum([(len(told), len(one.replies)) for one, told in self._told], axis=0)
        parts = zip(np.split(vectors, ends[:-1, 0]), np.split(answers, ends[:-1, 1]), strict=True)
        return np.stack([(said.mean(0) + _unit(answered.mean(0))) / 2 for said, answered in parts])

    @cached_property
    def _made_of(self) -> str:
        return _hash(self._told, self._listener.fingerprint)

    @cached_property
    def _vectors(self) -> NDArray[np.float32]:
        """(told, size): from beside the situations or the user's cache; else made now, and kept there."""
        vectors = read_vectors(self._folder / VECTORS, self._made_of)
        with suppress(OSError, HeartfeltError, RuntimeError):  # no home, no room, or not ours to write
            cached = cache_folder() / "situations" / f"{self._made_of[:16]}.npz"
            if vectors is None:
                vectors = read_vectors(cached, self._made_of)
            if vectors is None:
                vectors = _rounded(self._centres())
                _write(cached, vectors, self._made_of)
        return _rounded(self._centres()) if vectors is None else vectors


def own(folder: Path) -> Iterator[Situation]:
    """All of a folder; what is not a situation is said, not passed over."""
    return situations(folder, Faults(strict=True, hint=""))


def mood_chance(emotion: str | None, felt: Heard) -> float:
    """How likely it is that somebody who was heard so is in this mood, or in one of its kind; None: small talk."""
    if emotion is None:
        return felt.neutral
    group = felt.group.get(_group(emotion) or "", 0.0)
    return (1 - felt.neutral) * (felt.emotion.get(emotion, 0.0) + group) / 2


def _turned(emotion: str | None, last: Heard) -> bool:
    """Is what was said last surely glad where a situation is sad, or sad where it is glad?"""
    here = _group(emotion)
    against = _SORRY if here in _GLAD else _GLAD if here in _SORRY else ()
    return (1 - last.neutral) * sum(last.group.get(group, 0.0) for group in against) > TURNED


def _group(emotion: str | None) -> str | None:
    return next((group for group, names in GROUPS.items() if emotion in names), None)


def _write(path: Path, vectors: NDArray[np.float32], made_of: str) -> None:
    with writing(path, "wb") as file:
        np.savez(file, vectors=vectors.astype(np.float16), made_of=np.array(made_of))


def read_vectors(path: Path, made_of: str) -> NDArray[np.float32] | None:
    """None where there are none, or of other messages or another encoder, or broken."""
    try:
        with np.load(path, allow_pickle=False) as kept:
            return kept["vectors"].astype(np.float32) if str(kept["made_of"]) == made_of else None
    except (OSError, ValueError, KeyError, EOFError, zipfile.BadZipFile):
        return None


# Half the bits do to tell what is near, and halve the file.
def _rounded(vectors: NDArray[np.float32]) -> NDArray[np.float32]:
    """As they are read back: a first start finds what every other does."""
    return vectors.astype(np.float16).astype(np.float32)


def _unit(vector: NDArray[np.float32]) -> NDArray[np.float32]:
    return vector / np.float32(max(float(np.linalg.norm(vector)), 1e-12))


def _hash(told: Sequence[Told], fingerprint: str) -> str:
    """Of all that the vectors are made of."""
    digest = hashlib.sha256(fingerprint.encode())
    for one, messages in told:
        texts = [[turn.text for turn in message] for message in messages]
        digest.update(repr((texts, [reply.text for reply in one.replies])).encode())
    return digest.hexdigest()
