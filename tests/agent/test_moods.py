"""Replies by mood: which mood is meant, what is put together, and that the shipped ones are as they should be."""

from collections.abc import Iterator
from pathlib import Path
from random import Random

import pytest

from heartfelt.agent.agent import Agent
from heartfelt.agent.guard import Guard
from heartfelt.agent.listen import Heard, Listener
from heartfelt.agent.moods import NAMES, Moods, mood_of
from heartfelt.agent.rank import tells_of_own_life
from heartfelt.dialogue import Dialogue, Turn
from heartfelt.errors import BadData
from heartfelt.labels import INTENTS
from tests.agent.test_agent import SAD, Says

pytestmark = pytest.mark.filterwarnings("ignore")  # torch's exporter warns of itself
ANY = dict.fromkeys((*INTENTS, "neutral"), 0.1)
GLAD, SORRY = {"proud": 0.6, "sad": 0.1}, {"sad": 0.4, "angry": 0.3, "proud": 0.2}
MOODS = """
@ sad
= [sympathizing] That is sad.
= [acknowledging] It weighs on you.
+ [questioning] What hurts most?
+ [suggesting] Take a walk.

@ sadness later
= [acknowledging] I see.
+ [questioning] And now?
"""


def said(*texts: str) -> Dialogue:
    who = ("speaker", "listener")
    return Dialogue("d", tuple(Turn(who[i % 2], text) for i, text in enumerate(texts)))


@pytest.fixture
def own(tmp_path: Path) -> Moods:
    (tmp_path / "some.txt").write_text(MOODS, encoding="utf-8")
    return Moods(tmp_path)


@pytest.mark.parametrize(
    ("felt", "texts", "mood"),
    [
        (Heard(GLAD), ["I won."], "proud"),
        (Heard(SORRY), ["I lost."], "sad"),
        (
            Heard({"proud": 0.3, "angry": 0.25}),
            ["He won."],
            "unsure",
        ),  # glad or sorry? .3 of .55 says neither
        (
            Heard({"proud": 0.15, "joyful": 0.1}),
            ["He won."],
            "unsure",
        ),  # glad, but of no kind that is sure enough
        (
            Heard({"nostalgic": 0.4, "sad": 0.3, "joyful": 0.3}),
            ["Those days."],
            "nostalgic",
        ),  # is both at once
        (Heard(GLAD), ["I won.", "What?", "The race."], "joy later"),
        (
            Heard({"proud": 0.3, "angry": 0.24}),
            ["He won.", "Oh.", "Yes."],
            "joy later",
        ),  # .56: within a talk, enough
        (Heard({"proud": 0.3, "angry": 0.28}), ["He won.", "Oh.", "Yes."], "unsure later"),
        (Heard(GLAD, neutral=0.9), ["I had soup."], "plain"),
        (Heard(GLAD, neutral=0.9), ["I had soup. Can penguins fly?"], "plain question"),
        (Heard(GLAD, neutral=0.9), ["name a river in France"], "plain question"),
        (Heard(GLAD, neutral=0.9), ["Hi.", "Hello.", "how far is it to Rome"], "plain question later"),
    ],
)
def test_which_mood_is_meant(felt: Heard, texts: list[str], mood: str) -> None:
    assert mood_of(said(*texts), felt) == mood


def test_what_somebody_says_to_feel_is_believed() -> None:
    assert mood_of(said("I won."), Heard(GLAD, neutral=0.9), "afraid") == "afraid"
    assert mood_of(said("I won.", "Oh.", "Yes."), Heard(GLAD), "afraid") == "fear later"


def test_an_opening_and_what_follows_it(own: Moods) -> None:
    found = own.say(said("I lost."), Heard(SORRY), ANY, Random(0), count=200)
    texts = {one.text for one in found}
    openings, more = ("That is sad.", "It weighs on you."), ("What hurts most?", "Take a walk.")
    assert texts == {*openings, *(f"{first} {then}" for first in openings for then in more)}  # all, each once
    assert {(one.about, one.scores["mood"]) for one in found} == {("sad", 1.0)}


def test_what_is_not_wanted_or_was_said_is_not_said(own: Moods) -> None:
    wanted = {"sympathizing": 0.5, "questioning": 0.5}
    found = own.say(said("I lost."), Heard(SORRY), wanted, Random(0), count=99)
    assert {one.text for one in found} == {"That is sad.", "That is sad. What hurts most?"}
    only = own.say(said("I lost."), Heard(SORRY), {"questioning": 1.0}, Random(0))
    assert {one.text for one in only} == {"What hurts most?"}
    talk = said("I lost.", "Oh no. And now?", "I don't know.")
    assert {one.text for one in own.say(talk, Heard(SORRY), ANY, Random(0))} == {"I see."}
    assert own.say(said("I lost."), Heard(SORRY), {"wishing": 1.0}, Random(0)) == []
    assert own.say(said("I won."), Heard(GLAD), ANY, Random(0)) == []  # no such mood here


@pytest.mark.parametrize(
    "text",
    [
        "@ bored\n= [neutral] Oh.\n+ [neutral] Well.",
        "@ sad\n= [moaning] Oh.\n+ [neutral] Well.",
        "@ sad\n= [neutral] Oh.",
        "@ sad\n= [neutral] Oh.\n+ [neutral] Well.\n\n@ sad\n= [neutral] Oh.\n+ [neutral] Well.",
    ],
)
def test_what_is_no_mood_is_told_with_its_place(tmp_path: Path, text: str) -> None:
    (tmp_path / "some.txt").write_text(text, encoding="utf-8")
    with pytest.raises(BadData, match=r"some\.txt:\d+"):
        Moods(tmp_path).moods  # noqa: B018


@pytest.fixture(scope="module")
def listener(tiny_encoder: Path) -> Listener:
    return Listener(tiny_encoder)


def test_the_agent_speaks_by_mood_before_it_writes(listener: Listener, own: Moods) -> None:
    agent = Agent(Says("i am so sorry ."), listener, Guard("GB", ear=False), moods=own)
    reply = agent.reply(SAD)
    assert reply.model == "heartfelt-moods"
    assert reply.text == reply.candidates[0].text
    assert reply.candidates[0].about == "sad"
    assert agent.generator.asked == []  # type: ignore[attr-defined]
    glad = agent.reply(SAD, emotion="joyful")  # of which these moods know nothing
    assert (glad.model, glad.text) == ("says", "i am so sorry .")


def test_who_asks_for_an_intent_gets_the_best_of_both(listener: Listener, own: Moods) -> None:
    agent = Agent(Says("what did you say ?"), listener, Guard("GB", ear=False), moods=own)
    reply = agent.reply(SAD, plan="questioning")
    assert {one.text for one in reply.candidates} == {"what did you say ?", "What hurts most?"}


def shipped() -> Iterator[Turn]:
    for mood in Moods().moods.values():
        yield from (*mood.openings, *mood.more)


def test_shipped_moods_are_all_there() -> None:
    moods = Moods().moods
    assert sorted(moods) == sorted(NAMES)
    for mood in moods.values():
        assert len(mood.openings) * len(mood.more) >= 250, mood.name
        for parts in (mood.openings, mood.more):
            assert len({part.text for part in parts}) == len(parts), mood.name


def test_shipped_moods_are_fit_to_send() -> None:
    guard = Guard("GB", ear=False)
    for part in shipped():
        assert guard.check(part.text).action == "pass", part.text
        assert not tells_of_own_life(part.text), part.text
        assert "sorry to hear" not in part.text.lower(), part.text
        assert part.text[-1] in ".!?" and part.text[0].isupper(), part.text
        assert 1 <= len(part.text.split()) <= 15, part.text


def test_nothing_is_shouted_in_heavy_moods() -> None:
    heavy = (
        "sad",
        "guilty",
        "devastated",
        "ashamed",
        "terrified",
        "sadness later",
        "fear later",
        "unsure",
        "plain",
    )
    moods = Moods().moods
    assert not [p.text for name in heavy for p in (*moods[name].openings, *moods[name].more) if "!" in p.text]
