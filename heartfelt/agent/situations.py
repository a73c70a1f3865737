"""Replies for situations that are known: found by messages like the one that was written, and there at once.

A small model that writes loses the thread, and people rate replies that were chosen above those that were made
(rashkin2019's Table 2). So the agent first looks whether somebody was in the same situation. A folder of text files
holds them (`heartfelt corpora describe heartfelt_situations` says how they are written): ours, or your own.
"""

import hashlib
import re
from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from contextlib import suppress
from functools import cached_property
from pathlib import Path
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from heartfelt.agent.listen import Listener
from heartfelt.corpora import heartfelt_situations, heartfelt_talks
from heartfelt.corpora.heartfelt_situations import Situation
from heartfelt.dialogue import LISTENER, Candidate, Dialogue, Turn, examples
from heartfelt.errors import HeartfeltError
from heartfelt.files import Faults, cache_folder, writing
from heartfelt.text import same_key, words

NEAREST = 3  # situations whose replies are considered
NEAR = 0.06  # a further situation may be so much less like the message than the first one
ALIKE = 0.70  # from this likeness on a message is taken to be of a situation's kind
ANSWERS_ALIKE = 0.75  # the same for an answer within a talk, which by its nature says less
COMMON = 1 / 500  # a word in more than this share of situations is nobody's detail
VECTORS = "vectors.npz"


class Found(NamedTuple):
    situation: Situation
    like: float  # to the one of its messages that is most like what was written


class Known:
    """Situations, ready to be asked."""

    name = "heartfelt-situations"
    languages = ("en",)  # that the matcher reads

    def __init__(self, listener: Listener, folder: Path | None = None) -> None:
        """folder: of your own situations; else those that come with Heartfelt, and its talks."""
        self._listener = listener
        self.situations = tuple(own(folder) if folder else shipped())
        self._kept_in = folder or heartfelt_situations.SHIPPED
        ordered = sorted(
            ((message, one) for one in self.situations for message in one.messages),
            key=lambda key: len(key[0]) > 1,
        )  # openings, then answers to something the listener said
        self._messages = [message for message, _ in ordered]
        self._of = [one for _, one in ordered]
        self._openings = sum(len(message) == 1 for message in self._messages)

    def __len__(self) -> int:
        """Messages."""
        return len(self._messages)

    def say(self, dialogue: Dialogue, plan: str | None = None) -> list[Candidate]:
        """The replies of the nearest situations; none where nothing is near.

        plan: only replies that do this. What was said in the talk before is not said again.
        """
        said = {same_key(turn.text) for turn in dialogue.turns}
        told = {word for turn in dialogue.turns for word in words(turn.text)}
        return [
            Candidate(reply.text, {"like": like}, situation.name)
            for situation, like in self.find(dialogue.turns)
            for reply in situation.replies
            if (plan is None or reply.label == plan)
            and same_key(reply.text) not in said
            and not self._details(situation, reply.text) - told
        ]

    def find(self, turns: Sequence[Turn], count: int = NEAREST) -> list[Found]:
        """The situations that a talk's last turn is in, the nearest first."""
        found: dict[int, Found] = {}
        for first, vectors, asked, least in self._ways(turns):
            likes = vectors @ self._listener.contexts([asked])[0]
            for place in np.argsort(-likes)[: 8 * count].tolist():
                situation = self._of[first + place]
                like = float(likes[place]) - least + ALIKE  # on one scale, whichever way it was found
                if like > max(ALIKE, found.get(id(situation), Found(situation, 0.0)).like):
                    found[id(situation)] = Found(situation, like)
        nearest = sorted(found.values(), key=lambda one: -one.like)[:count]
        return [one for one in nearest if one.like >= nearest[0].like - NEAR]

    def _ways(
        self, turns: Sequence[Turn]
    ) -> Iterator[tuple[int, NDArray[np.float32], Sequence[Turn], float]]:
        """Where to look, from which place on, what for, and how alike is alike."""
        if self._openings:
            yield 0, self._vectors[: self._openings], turns[-1:], ALIKE
        if self._openings < len(self._messages) and len(turns) > 1 and turns[-2].speaker == LISTENER:
            yield self._openings, self._vectors[self._openings :], turns[-2:], ANSWERS_ALIKE

    def _details(self, situation: Situation, text: str) -> set[str]:
        """What a reply takes up from the one message that it was written for: nobody else may have told it."""
        if len(situation.messages) > 1:
            return set()
        told = {word for turn in situation.messages[0] for word in words(turn.text)}
        return {
            word for word in words(text) if _NUMBER.fullmatch(word) or (word in told and self._rare(word))
        }

    def _rare(self, word: str) -> bool:
        return self._counts[word] <= COMMON * len(self.situations)

    @cached_property
    def _counts(self) -> Counter[str]:
        """In how many situations a word is."""
        return Counter(
            word
            for one in self.situations
            for word in {
                word
                for turn in (*(turn for message in one.messages for turn in message), *one.replies)
                for word in words(turn.text)
            }
        )

    def keep(self, folder: Path) -> None:
        """Write the vectors beside the situations, so that nobody has to wait for them at a first start."""
        made_of = _hash(self._messages, self._listener.fingerprint)
        write_vectors(folder / VECTORS, self._listener.contexts(self._messages), made_of)

    @cached_property
    def _vectors(self) -> NDArray[np.float32]:
        """(messages, size)"""
        return kept_vectors(self._kept_in, self._messages, self._listener)


# Of numbers only "one" and "two" are said of anything.
_NUMBER = re.compile(
    r"\d+|three|four|five|six|seven|eight|nine|ten|eleven|twelve|\w+teen|(?:twen|thir|for|fif|six|seven|eigh|nine)ty|hundred|"
    r"thousand|monday|tuesday|wednesday|thursday|friday|saturday|sunday"
)


def own(folder: Path) -> Iterator[Situation]:
    """A user's own: what is not a situation is said, not passed over."""
    return heartfelt_situations.situations(folder, Faults(strict=True, hint=""))


def shipped() -> Iterator[Situation]:
    yield from own(heartfelt_situations.SHIPPED)
    yield from _talks()


def _talks() -> Iterator[Situation]:
    """Our talks: each message a situation of its own, with the replies that were written for it alone."""
    found: dict[tuple[str, ...], list[Turn]] = {}
    emotions: dict[tuple[str, ...], str | None] = {}
    for split in heartfelt_talks.CORPUS.splits:
        for talk in heartfelt_talks.read(heartfelt_talks.SHIPPED, split, Faults(strict=True)):
            for example in examples(talk, window=2):
                key = tuple(turn.text for turn in example.context)
                emotions[key] = talk.emotion
                replies = found.setdefault(key, [])
                if example.response not in replies:
                    replies.append(example.response)
    for key, replies in found.items():
        speakers = heartfelt_situations.SIDES[-len(key) :]
        message = tuple(Turn(speaker, text) for speaker, text in zip(speakers, key, strict=True))
        yield Situation(key[-1], emotions[key], (message,), tuple(replies))


def kept_vectors(folder: Path, messages: Sequence[Sequence[Turn]], listener: Listener) -> NDArray[np.float32]:
    """(messages, size): from beside the situations or the user's cache; else made now, and kept there."""
    made_of = _hash(messages, listener.fingerprint)
    cached = cache_folder() / "situations" / f"{made_of[:16]}.npz"
    for path in (folder / VECTORS, cached):
        if (vectors := _read(path, made_of)) is not None:
            return vectors
    vectors = listener.contexts(messages)
    with suppress(OSError, HeartfeltError):  # no room, or not ours to write: made again the next time
        write_vectors(cached, vectors, made_of)
    return vectors


def write_vectors(path: Path, vectors: NDArray[np.float32], made_of: str) -> None:
    """Eight bits a number are enough to tell what is near, and make a quarter of the file."""
    with writing(path, "wb") as file:
        np.savez(file, vectors=np.rint(vectors * 127).astype(np.int8), made_of=np.array(made_of))


def _read(path: Path, made_of: str) -> NDArray[np.float32] | None:
    try:
        with np.load(path, allow_pickle=False) as kept:
            if str(kept["made_of"]) != made_of:
                return None
            return np.asarray(kept["vectors"] / np.float32(127), np.float32)
    except (OSError, ValueError, KeyError):
        return None


def _hash(messages: Iterable[Sequence[Turn]], fingerprint: str) -> str:
    digest = hashlib.sha256(fingerprint.encode())
    for message in messages:
        digest.update("\n".join(("", *(turn.text for turn in message))).encode() + b"\0")
    return digest.hexdigest()
