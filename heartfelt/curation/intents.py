"""From a few hundred hand-labelled turns to a training set for intents, as EmpatheticIntents and meed2 made theirs.

1. n-grams: of each intent's seeds, the n-grams that occur most, and mostly under that intent.
2. extend: every listener turn that holds an intent's n-gram gets that intent; one that two intents claim is left out.
3. balance: no intent has more turns than another may have.
"""

from collections import Counter, defaultdict
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field

import numpy as np

from heartfelt.dialogue import LISTENER, Dialogue, Turn
from heartfelt.errors import InvalidValue
from heartfelt.labels import INTENTS
from heartfelt.text import same_key, sentences, words

LENGTHS = (1, 2, 3, 4)


@dataclass(frozen=True)
class NGram:
    """A run of words that speaks for an intent."""

    words: tuple[str, ...]
    intent: str
    seeds: int  # of this intent that hold it
    purity: float  # share of all seeds holding it that are of this intent, each intent weighing alike

    def __str__(self) -> str:
        return " ".join(self.words)


def frequent_ngrams(
    seeds: Iterable[tuple[str, str]], top: int = 20, min_seeds: int = 3, min_purity: float = 0.75
) -> dict[str, list[NGram]]:
    """Intent → its n-grams, the most frequent first, from (text, intent) seeds.

    A longer n-gram that adds nothing to a shorter one in the list (it occurs in the same seeds) is left out.
    """
    held: dict[str, Counter[tuple[str, ...]]] = defaultdict(Counter)
    sizes: Counter[str] = Counter()
    for text, intent in seeds:
        sizes[intent] += 1
        held[intent].update(ngrams(text))
    if not sizes:
        raise InvalidValue("there are no seeds to take n-grams from")
    found: dict[str, list[NGram]] = {}
    for intent, counts in held.items():
        ranked: list[NGram] = []
        for gram, count in sorted(counts.items(), key=lambda item: (-item[1], len(item[0]), item[0])):
            if count < min_seeds or len(ranked) == top:
                break
            shares = {other: held[other][gram] / sizes[other] for other in held}
            purity = shares[intent] / sum(shares.values())
            redundant = any(kept.seeds == count and _within(kept.words, gram) for kept in ranked)
            if purity >= min_purity and not redundant:
                ranked.append(NGram(gram, intent, count, round(purity, 3)))
        found[intent] = ranked
    return found


@dataclass
class Claims:
    """What became of the turns that `extend` looked at."""

    intents: Counter[str] = field(default_factory=Counter)  # claimed by this one alone: kept
    several: int = 0  # claimed by more than one intent: left out
    none: int = 0

    @property
    def looked_at(self) -> int:
        return self.intents.total() + self.several + self.none


def extend(
    dialogues: Iterable[Dialogue],
    found: dict[str, list[NGram]],
    by_sentence: bool = False,
    claims: Claims | None = None,
) -> Iterator[Dialogue]:
    """Every listener turn that n-grams of exactly one intent claim, as a dialogue of that one labelled turn.

    by_sentence: cut turns into sentences first, as the published extension does; a turn may then give several.
    claims: counts what was kept and left out while you read.
    """
    intents_of: dict[tuple[str, ...], list[str]] = defaultdict(list)
    for intent, grams in found.items():
        for each in grams:
            intents_of[each.words].append(intent)
    told = claims if claims is not None else Claims()
    for id_, text, source in _listened(dialogues, by_sentence):
        held = {intent: gram for gram in sorted(ngrams(text)) for intent in intents_of.get(gram, ())}
        if len(held) == 1:
            ((intent, gram),) = held.items()
            told.intents[intent] += 1
            yield Dialogue(
                id_, (Turn(LISTENER, text, intent),), source=source, meta={"ngram": " ".join(gram)}
            )
        elif held:
            told.several += 1
        else:
            told.none += 1


def _listened(dialogues: Iterable[Dialogue], by_sentence: bool) -> Iterator[tuple[str, str, str | None]]:
    """Id, text and source of what listeners say: turns, or their sentences."""
    for dialogue in dialogues:
        speaker = dialogue.speaker
        for index, turn in enumerate(dialogue.turns):
            if turn.speaker == speaker:
                continue
            if not by_sentence:
                yield f"{dialogue.id}:{index}", turn.text, dialogue.source
                continue
            for place, sentence in enumerate(sentences(turn.text)):
                yield f"{dialogue.id}:{index}.{place}", sentence, dialogue.source


def balance(dialogues: Iterable[Dialogue], most: int, seed: int = 0) -> list[Dialogue]:
    """At most so many of each label, drawn at random, in their order; equal texts count once."""
    by_label: dict[str, dict[str, tuple[int, Dialogue]]] = defaultdict(dict)
    for index, dialogue in enumerate(dialogues):
        turn = dialogue.turns[-1]
        if turn.label is None:
            raise InvalidValue(f"the last turn of {dialogue.id} has no label to balance by")
        by_label[turn.label].setdefault(same_key(turn.text), (index, dialogue))
    draw = np.random.default_rng(seed)
    kept: list[tuple[int, Dialogue]] = []
    for label in sorted(by_label):
        entries = list(by_label[label].values())
        chosen = draw.permutation(len(entries))[:most]
        kept += [entries[i] for i in chosen]
    return [dialogue for _, dialogue in sorted(kept, key=lambda entry: entry[0])]


@dataclass(frozen=True)
class Agreement:
    """Two labelled sets, text by text; equal texts count once."""

    ours: int
    theirs: int
    shared: int  # texts that are in both
    same_label: int  # of these, with a label in common


def agreement(ours: Iterable[Dialogue], theirs: Iterable[Dialogue]) -> Agreement:
    """How far two labelled sets agree: which texts both have, and whether they call them the same."""
    first, second = _labels_of(ours), _labels_of(theirs)
    shared = first.keys() & second.keys()
    same = sum(bool(first[key] & second[key]) for key in shared)
    return Agreement(len(first), len(second), len(shared), same)


def _labels_of(dialogues: Iterable[Dialogue]) -> dict[str, set[str]]:
    found: dict[str, set[str]] = defaultdict(set)
    for dialogue in dialogues:
        for turn in dialogue.turns:
            if turn.label is not None:
                found[same_key(turn.text)].add(turn.label)
    return found


def seeds_of(dialogues: Iterable[Dialogue]) -> Iterator[tuple[str, str]]:
    """(text, intent) of hand-labelled turns; labels outside the eight intents are left out."""
    for dialogue in dialogues:
        for turn in dialogue.turns:
            if turn.label in INTENTS:
                yield turn.text, turn.label


def ngrams(text: str) -> set[tuple[str, ...]]:
    found = words(text)
    return {tuple(found[i : i + n]) for n in LENGTHS for i in range(len(found) - n + 1)}


def _within(short: tuple[str, ...], long: tuple[str, ...]) -> bool:
    return any(long[i : i + len(short)] == short for i in range(len(long) - len(short) + 1))
