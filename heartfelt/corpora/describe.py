"""What is in a corpus: counts, lengths, labels, the words people use, and what leaks between splits."""

from collections import Counter, defaultdict
from collections.abc import Callable
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import msgspec

from heartfelt import corpora
from heartfelt.corpora.corpus import Corpus
from heartfelt.corpora.near_duplicates import Openings, Overlap
from heartfelt.dialogue import Dialogue
from heartfelt.files import Faults
from heartfelt.text import STOP_WORDS, content_words, words

TOP = 3  # words a label, as in rashkin2019's Figure 3
LONGEST = 12  # dialogues of this many turns or more are counted together


@dataclass
class Split:
    """The numbers of one split."""

    name: str
    dialogues: int = 0
    turns: int = 0
    words: int = 0
    situation_words: int = 0
    situations: int = 0
    lengths: Counter[int] = field(default_factory=Counter)  # turns → dialogues
    emotions: Counter[str] = field(default_factory=Counter)
    labels: Counter[str] = field(default_factory=Counter)

    def add(self, dialogue: Dialogue) -> None:
        self.dialogues += 1
        self.turns += len(dialogue.turns)
        self.lengths[min(len(dialogue.turns), LONGEST)] += 1
        for turn in dialogue.turns:
            self.words += len(words(turn.text))
            if turn.label is not None:
                self.labels[turn.label] += 1
        if dialogue.emotion:
            self.emotions[dialogue.emotion] += 1
        if dialogue.situation:
            self.situations += 1
            self.situation_words += len(words(dialogue.situation))


@dataclass
class Words:
    """The most used content words about one emotion, by who says them."""

    emotion: str
    share: float  # of the dialogues that the words were counted in
    speaker: list[tuple[str, int]]
    listener: list[tuple[str, int]]


@dataclass
class Description:
    corpus: Corpus
    splits: list[Split]
    words_of: str  # the split in which words were counted
    left_out: int  # how many function words were not counted
    words: list[Words]  # most frequent emotion first; the one entry "all" where there are no emotions
    overlaps: list[Overlap]
    faults: Faults

    def to_dict(self) -> dict[str, Any]:
        """For --json."""
        return {
            "corpus": self.corpus.name,
            "title": self.corpus.title,
            "licence": self.corpus.section("Licence"),
            **msgspec.to_builtins(
                {"splits": self.splits, "words": self.words, "overlaps": self.overlaps}, str_keys=True
            ),
            "faults": {"count": self.faults.count, "first": [str(fault) for fault in self.faults.first]},
        }


def describe(
    name: str,
    *,
    data: Path | str | None = None,
    strict: bool = False,
    step: Callable[[str], None] = lambda split: None,
) -> Description:
    """Read a whole corpus once and count. `step` is called with the split's name for every dialogue read."""
    corpus = corpora.find(name)
    faults = Faults(strict)
    splits: list[Split] = []
    openings = Openings()
    languages: set[str] = set()
    said: dict[str, dict[bool, Counter[str]]] = defaultdict(lambda: {True: Counter(), False: Counter()})
    for split_name in corpus.splits:
        split = Split(split_name)
        splits.append(split)
        for dialogue in corpora.load(name, split_name, data=data, faults=faults):
            step(split_name)
            split.add(dialogue)
            if len(corpus.splits) > 1:
                openings.add(split_name, dialogue.turns[0].text)
            if len(splits) == 1:  # words are counted in the first split, which is train where there is one
                whose = dialogue.speaker
                for turn in dialogue.turns:
                    spoken = content_words(turn.text, dialogue.language)
                    said[dialogue.emotion or "all"][turn.speaker == whose].update(spoken)
                languages.add(dialogue.language)
    if faults.count and not any(split.dialogues for split in splits):
        raise corpora.nothing_readable(name, faults)
    first = splits[0]
    ranked = first.emotions.most_common() if first.emotions else [("all", first.dialogues)]
    counted = [
        Words(
            emotion,
            count / max(1, first.dialogues),
            said[emotion][True].most_common(TOP),
            said[emotion][False].most_common(TOP),
        )
        for emotion, count in ranked
    ]
    left_out = sum(len(STOP_WORDS.get(language, ())) for language in languages)
    return Description(corpus, splits, first.name, left_out, counted, openings.overlaps(), faults)
