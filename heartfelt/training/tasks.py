"""What there is to learn from texts: each task names its heads (label sets) and gives items by split.

Every task that is scored on EmpatheticDialogues keeps that corpus's splits.
"""

from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import NamedTuple
from zlib import crc32

from heartfelt import corpora
from heartfelt.corpora.newsgroups import GROUPS as GROUPS_20
from heartfelt.dialogue import SPEAKER, Dialogue, Turn, examples
from heartfelt.errors import UnknownName
from heartfelt.files import Faults
from heartfelt.labels import EMOTIONS, GROUPS, INTENTS, LABELS, NEUTRAL, group_of
from heartfelt.text import same_key
from heartfelt.training.crisis import messages, own_messages, told_outright
from heartfelt.training.small_talk import daily_dialogues, small_talk, split_of

SPLITS = ("train", "valid", "test")
REPLY_LABELS = (*INTENTS, NEUTRAL)  # of listeners' turns; the emotions are of speakers' situations


class Item(NamedTuple):
    dialogue: str
    turn: int  # with the dialogue's id, the name of the item
    turns: tuple[str, ...]  # the text, a turn at a time
    labels: dict[str, str]  # head → label; a head may be left out
    speakers: tuple[str, ...] = ()  # who says each turn, where the task tells
    turn_labels: tuple[str | None, ...] = ()  # what each turn expresses, where the task tells

    @property
    def id(self) -> str:
        return f"{self.dialogue}:{self.turn}"

    @property
    def text(self) -> str:
        return " ".join(self.turns)

    @property
    def context(self) -> tuple[Turn, ...]:
        """All that a model may see. Where the task does not tell, one person speaks and nothing is labelled."""
        speakers = self.speakers or (SPEAKER,) * len(self.turns)
        labels = self.turn_labels or (None,) * len(self.turns)
        return tuple(Turn(*parts) for parts in zip(speakers, self.turns, labels, strict=True))


Reader = Callable[[str, Path | None], Iterator[Item]]
Shunned = Callable[[Path | None], set[str]]


@dataclass(frozen=True)
class Task:
    name: str
    what: str
    heads: dict[str, tuple[str, ...]]
    read: Reader  # split, data folder
    shunned: Shunned | None = (
        None  # data folder → texts that nothing in train may have, as heartfelt.text.same_key
    )


def situations(split: str, data: Path | None) -> Iterator[Item]:
    for dialogue in corpora.load("empathetic_dialogues", split, data=data):
        if dialogue.situation and dialogue.emotion:
            yield Item(dialogue.id, 0, (dialogue.situation,), {"emotion": dialogue.emotion})


def contexts(split: str, data: Path | None) -> Iterator[Item]:
    """One item a listener turn: all that was said before it, and how the speaker felt.

    All, not the last four turns as in rashkin2019's retrieval: the story is told in the first one.
    """
    for dialogue in corpora.load("empathetic_dialogues", split, data=data):
        for example in examples(dialogue, window=None):
            turns = tuple(turn.text for turn in example.context)
            yield Item(dialogue.id, example.index, turns, {"emotion": dialogue.emotion or ""})


def utterances(split: str, data: Path | None) -> Iterator[Item]:
    for dialogue in corpora.load("intent_utterances", split, data=data):
        (turn,) = dialogue.turns
        yield Item(dialogue.id, 0, (turn.text,), {"label": turn.label or ""})


def plans(split: str, data: Path | None) -> Iterator[Item]:
    """One item a listener turn: all that was said before it, and what it then did (one of 41)."""
    for dialogue in corpora.load("empathetic_intents", split, data=data):
        for example in examples(dialogue, window=None):
            # Of the turns before the reply, and of those alone: the reply's own label is what to learn.
            context, plan = example.context, {"plan": example.response.label or ""}
            yield Item(
                dialogue.id, example.index, tuple(turn.text for turn in context), plan,
                tuple(turn.speaker for turn in context), tuple(turn.label for turn in context),
            )  # fmt: skip


def topics(split: str, data: Path | None) -> Iterator[Item]:
    """20 Newsgroups by date has no valid split: a tenth of train is kept for it, every tenth message."""
    published = "test" if split == "test" else "train"
    for number, dialogue in enumerate(corpora.load("20news", published, data=data)):
        if split != "test" and (number % 10 == 9) != (split == "valid"):
            continue
        (turn,) = dialogue.turns
        yield Item(dialogue.id, 0, (turn.text,), {"topic": turn.label or ""})


def neutrality(split: str, data: Path | None) -> Iterator[Item]:
    """Does this message want an empathetic answer, or a plain one? (naous2021's open problem.)

    Plain: prompts of chit-chat, and openings of DailyDialog without emotion. Felt: speakers' first words in ED, and
    openings of DailyDialog with one. Chit-chat has no splits: equal prompts go together, by a hash of their words;
    of DailyDialog's valid and test openings, those that its train split repeats are left out.
    """
    yield from _prompts(small_talk(split, data))
    for dialogue in daily_dialogues(split, data):
        turn = dialogue.turns[0]
        yield Item(f"dd-{dialogue.id}", 0, (turn.text,), {"neutral": _daily_feeling(turn)})
    for dialogue in corpora.load("empathetic_dialogues", split, data=data):
        yield Item(dialogue.id, 0, (dialogue.turns[0].text,), {"neutral": "felt"})


# There are 30 times as many tweets as prompts of small talk, and greetings are what a gate must know: counted once
# each, "good morning" was called felt (docs/log.md).
_ARABIC_SMALL_TALK_COUNTS = 20


def arabic_neutrality(split: str, data: Path | None) -> Iterator[Item]:
    """The same in Arabic. Plain: chit-chat, tweets without emotion. Felt: ED's speakers in translation, other tweets.

    None of these has splits: equal texts go together, by a hash of their words. The translation is of ED's test
    split, so nothing that is trained here may be scored on English ED, and nothing is.
    """
    for item in _prompts(small_talk(split, data, "ar")):
        for copy in range(1 if split == "test" else _ARABIC_SMALL_TALK_COUNTS):
            yield item._replace(dialogue=f"{item.dialogue}#{copy}" if copy else item.dialogue)
    for name in ("arabic_ed_test", "emotone"):
        for dialogue in corpora.load(name, data=data, faults=Faults()):
            turn = dialogue.turns[0]
            if split_of(turn.text) == split:
                labels = {"neutral": "plain" if turn.label == "none" else "felt"}
                yield Item(f"{name}-{dialogue.id}", 0, (turn.text,), labels)


def _prompts(dialogues: Iterable[Dialogue]) -> Iterator[Item]:
    for dialogue in dialogues:
        yield Item(dialogue.id, 0, (dialogue.turns[0].text,), {"neutral": "plain"})


def _daily_feeling(turn: Turn) -> str:
    return "plain" if turn.label == "none" else "felt"


def grouped(read: Reader) -> Reader:
    """The same items with Parrott's six groups in place of the 32 emotions."""

    def read_groups(split: str, data: Path | None) -> Iterator[Item]:
        for item in read(split, data):
            yield item._replace(labels={"group": group_of(item.labels["emotion"])})

    return read_groups


def clean(read: Reader) -> Reader:
    """The same items without the training utterances that word for word are a listener turn of ED's test split.

    They are no leak by origin: the published intent rows are sentences of turns of their own split. Short, common
    ones ("Good luck!") are said in all of them, and a labeller that is to judge ED's test replies can do without.
    """

    def read_clean(split: str, data: Path | None) -> Iterator[Item]:
        said = replies_of_test(data) if split == "train" else set()
        for item in read(split, data):
            if item.labels.get("label", "") not in REPLY_LABELS or same_key(item.text) not in said:
                yield item

    return read_clean


def replies_of_test(data: Path | None) -> set[str]:
    """What listeners say in ED's test split, as keys of heartfelt.text.same_key."""
    return {
        same_key(turn.text)
        for dialogue in corpora.load("empathetic_dialogues", "test", data=data)
        for turn in dialogue.turns
        if turn.speaker != dialogue.speaker
    }


def everything(split: str, data: Path | None) -> Iterator[Item]:
    """All that ED's text can teach one encoder: emotion of situations and contexts, labels, plans."""
    for item in situations(split, data):
        yield item._replace(labels={**item.labels, "label": item.labels["emotion"]})
    for item in utterances(split, data):
        if item.labels["label"] not in EMOTIONS:  # its emotion rows are the situations
            yield item
    plan_of = {item.id: item.labels["plan"] for item in plans(split, data)}
    for item in contexts(split, data):
        if plan := plan_of.get(item.id):
            yield item._replace(labels={**item.labels, "plan": plan})


def listening(split: str, data: Path | None) -> Iterator[Item]:
    """What the shipped encoder learns: everything, whether a message wants empathy or help, and labels of film talk."""
    for item in everything(split, data):
        if "emotion" in item.labels:  # all that ED's speakers say is felt
            item = item._replace(labels={**item.labels, "neutral": "felt"})
            if len(item.turns) == 1 and not told_outright(item.text):
                item.labels["crisis"] = "no"
        yield item
    for message in own_messages(split):
        felt = {"neutral": "felt", "crisis": "yes"} if message.crisis else {"crisis": "no"}
        yield Item(message.name, 0, (message.text,), felt)
    yield from _prompts(small_talk(split, data))
    for dialogue in daily_dialogues(split, data):
        turns = dialogue.turns
        chance = crc32(dialogue.id.encode())
        for end in {
            1,
            1 + chance % len(turns) if chance % 3 == 0 else 1,
        }:  # the opening; of a third, one further on
            shown = turns[max(0, end - 4) : end]
            feelings = {_daily_feeling(turn) for turn in shown}
            # Plain now, but moved before: that could be called either way.
            if len(feelings) == 1 or _daily_feeling(shown[-1]) == "felt":
                labels = {"neutral": _daily_feeling(shown[-1])}
                yield Item(f"dd-{dialogue.id}", end - 1, tuple(turn.text for turn in shown), labels)
    if split == "train":
        for dialogue in corpora.load("edos", "mturk", data=data, faults=Faults()):
            last = dialogue.turns[-1]
            if last.label in LABELS:
                yield Item(f"edos-{dialogue.id}", 0, (last.text,), {"label": last.label})


def crisis(split: str, data: Path | None) -> Iterator[Item]:
    """Does somebody need help now? For the guard's ear; see heartfelt/training/crisis.py."""
    for message in messages(split, data):
        yield Item(message.name, 0, (message.text,), {"crisis": "yes" if message.crisis else "no"})


TASKS: dict[str, Task] = {
    task.name: task
    for task in (
        Task("situations", "emotion of a described situation, 32-way", {"emotion": EMOTIONS}, situations),
        Task(
            "contexts", "speaker's emotion before a listener's turn, 32-way", {"emotion": EMOTIONS}, contexts
        ),
        Task(
            "situation_groups", "the same by Parrott's groups", {"group": tuple(GROUPS)}, grouped(situations)
        ),
        Task("context_groups", "the same by Parrott's groups", {"group": tuple(GROUPS)}, grouped(contexts)),
        Task("utterances", "emotion or intent of an utterance, 41-way", {"label": LABELS}, utterances),
        Task(
            "utterances_clean",
            "the same, trained without what listeners say in ED's test split",
            {"label": LABELS},
            clean(utterances),
            replies_of_test,
        ),
        Task("plans", "label of the next reply, 41-way", {"plan": LABELS}, plans),
        Task(
            "neutrality",
            "plain or felt: does a message want empathy?",
            {"neutral": ("felt", "plain")},
            neutrality,
        ),
        Task("arabic_neutrality", "the same in Arabic", {"neutral": ("felt", "plain")}, arabic_neutrality),
        Task("crisis", "whether somebody needs help now", {"crisis": ("no", "yes")}, crisis),
        Task("topics", "newsgroup of a message, 20-way", {"topic": GROUPS_20}, topics),
        Task(
            "everything",
            "emotions of situations and contexts, labels of utterances, plans: one encoder for all",
            {"emotion": EMOTIONS, "label": LABELS, "plan": LABELS},
            everything,
        ),
        Task(
            "everything_clean",
            "the same, its utterances as in utterances_clean",
            {"emotion": EMOTIONS, "label": LABELS, "plan": LABELS},
            clean(everything),
            replies_of_test,
        ),
        Task(
            "listening",
            "everything, the neutral gate, whether somebody needs help, and labels of film talk: the shipped encoder",
            {
                "emotion": EMOTIONS,
                "label": LABELS,
                "plan": LABELS,
                "neutral": ("felt", "plain"),
                "crisis": ("no", "yes"),
            },
            listening,
        ),
    )
}


def find(name: str) -> Task:
    if name not in TASKS:
        raise UnknownName("task", name, TASKS)
    return TASKS[name]
