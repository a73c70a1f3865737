"""The agent, its parts real but for the generator, which says what a test wants."""

from collections.abc import Callable
from pathlib import Path

import msgspec
import pytest

from heartfelt.agent.agent import Agent, Settings
from heartfelt.agent.chat import Chat, history, load_talk
from heartfelt.agent.generator import Decoding, Wish
from heartfelt.agent.guard import Guard
from heartfelt.agent.listen import Heard, Listener, as_dialogue
from heartfelt.agent.policy import Policy, Rule, When
from heartfelt.agent.rank import Weights, echo, rank, tells_of_own_life
from heartfelt.dialogue import Candidate, Concept, Dialogue, Reply, Turn
from heartfelt.errors import BadData, HeartfeltError, InvalidValue, MissingData, UnknownName
from heartfelt.labels import LABELS

pytestmark = pytest.mark.filterwarnings("ignore")  # torch's exporter warns of itself
SAD, HAPPY, PLAIN = "i am so sad . my dog died", "i am so happy . i won the game", "what did you say ?"


class Says:
    """A generator that says what it is told, and remembers what it was asked."""

    name = "says"
    languages = ("en",)

    def __init__(self, *texts: str) -> None:
        self.texts = texts
        self.asked: list[tuple[Dialogue, Wish]] = []

    def say(self, dialogue: Dialogue, wish: Wish, count: int, decoding: Decoding) -> list[Candidate]:
        self.asked.append((dialogue, wish))
        return [Candidate(text) for text in self.texts[:count]]

    def stream(self, dialogue: Dialogue, wish: Wish, heard: Callable[[str], None], decoding: Decoding) -> str:
        self.asked.append((dialogue, wish))
        text = "\n " + self.texts[0]  # as every real model begins
        for i in range(0, len(text), 5):
            heard(text[i : i + 5])
        return self.texts[0]


@pytest.fixture(scope="module")
def listener(tiny_encoder: Path) -> Listener:
    return Listener(tiny_encoder)


def agent(listener: Listener, *texts: str, **others: object) -> Agent:
    return Agent(Says(*texts), listener, Guard("GB", listener.needs_help), **others)  # type: ignore[arg-type]


def test_plans_that_are_about_as_likely_are_all_tried(
    listener: Listener, monkeypatch: pytest.MonkeyPatch
) -> None:
    one = agent(
        listener, "oh no .", "i am so sorry .", "what did you say ?", settings=Settings(candidates=3, plans=2)
    )
    chances = {"questioning": 0.5, "sympathizing": 0.4, "neutral": 0.1}
    monkeypatch.setattr(one, "plan", lambda *_: chances)
    reply = one.reply(SAD)
    asked = one.generator.asked  # type: ignore[attr-defined]
    assert {wish.plan for _, wish in asked} == {"questioning", "sympathizing"}
    assert reply.plan == chances
    chances["sympathizing"] = 0.2  # far behind
    asked.clear()
    one.reply(SAD)
    assert [wish.plan for _, wish in asked] == ["questioning"]
    asked.clear()
    one.reply(SAD, plan="consoling")
    assert [wish.plan for _, wish in asked] == ["consoling"]


def test_what_was_heard_and_planned_is_what_the_generator_is_asked(listener: Listener) -> None:
    one = agent(listener, "oh no .", "i am so sorry .")
    reply = one.reply(SAD)
    ((dialogue, wish),) = one.generator.asked  # type: ignore[attr-defined]
    assert wish == Wish("sad", "sympathizing")
    assert dialogue.emotion == "sad"
    assert reply.text in ("oh no .", "i am so sorry .")
    assert {candidate.text for candidate in reply.candidates} == {"oh no .", "i am so sorry ."}
    assert reply.candidates[0].text == reply.text
    assert reply.model == "says"
    assert set(reply.timings) == {"guard", "recognise", "respond", "rank"}
    assert sum(reply.plan.values()) == pytest.approx(1, abs=1e-4)
    assert "heard: sad" in reply.why
    assert "plan: sympathizing" in reply.why
    assert "<b>heard</b> sad" in reply._repr_html_()
    assert Reply.from_json(reply.to_json()) == reply


def test_plans_are_balanced_and_small_talk_is_neutral(
    listener: Listener, monkeypatch: pytest.MonkeyPatch
) -> None:
    card = listener._encoder.card
    times = tuple(4.0 if label == "wishing" else 1.0 for label in LABELS)
    monkeypatch.setattr(listener._encoder, "card", msgspec.structs.replace(card, balance={"plan": times}))
    felt = Heard(emotion={"sad": 1.0}, plan={"questioning": 0.6, "wishing": 0.3, "neutral": 0.1}, neutral=0.4)
    # By hand: .6, 1.2 and .1 of 1.9; a gate that is not sure has no say.
    assert listener.plan(felt) == pytest.approx(
        {"questioning": 0.6 / 1.9, "wishing": 1.2 / 1.9, "neutral": 0.1 / 1.9}
    )
    assert felt.feeling == "sad"
    plain = msgspec.structs.replace(felt, neutral=0.6)
    assert listener.plan(plain)["neutral"] == pytest.approx(0.6 + 0.4 * 0.1 / 1.9)
    assert sum(listener.plan(plain).values()) == pytest.approx(1)
    assert plain.feeling is None
    assert listener.plan(Heard(neutral=0.9, language="ar")) == {"neutral": 1.0}
    assert listener.plan(Heard(neutral=0.1, language="ar")) == {}


def test_small_talk_is_answered_plainly(listener: Listener) -> None:
    one = agent(listener, "nothing .")
    reply = one.reply(Dialogue("d", (Turn("speaker", PLAIN),), emotion="sad"))
    ((dialogue, wish),) = one.generator.asked  # type: ignore[attr-defined]
    assert wish == Wish(None, "neutral")
    assert dialogue.emotion is None  # what a corpus knows is not what was heard
    assert max(reply.plan, key=lambda label: reply.plan[label]) == "neutral"


def test_who_asks_for_an_emotion_or_a_plan_gets_it(listener: Listener) -> None:
    one = agent(listener, "so ?")
    one.reply(SAD, emotion="proud", plan="questioning")
    one.reply(PLAIN, plan="wishing")
    assert [wish for _, wish in one.generator.asked] == [  # type: ignore[attr-defined]
        Wish("proud", "questioning"),
        Wish(None, "wishing"),
    ]
    with pytest.raises(UnknownName, match="Did you mean 'questioning'"):
        one.reply(SAD, plan="question")
    with pytest.raises(UnknownName, match="no emotion 'blue'"):
        one.reply(SAD, emotion="blue")


def test_the_policy_has_its_say(listener: Listener) -> None:
    one = agent(listener, "so ?", policy=Policy((Rule(forbid=("sympathizing",)),)))
    assert one.reply(SAD).plan["sympathizing"] == 0


def test_what_it_does_not_speak_it_says(listener: Listener) -> None:
    one = agent(listener, "oh no .")
    assert "الإنجليزية" in one.reply("مات كلبي الليلة الماضية").text
    assert not one.generator.asked  # type: ignore[attr-defined]
    assert one.reply("أريد أن أقتل نفسي").safety.action == "refer"


def test_in_a_crisis_nothing_is_generated(listener: Listener) -> None:
    one = agent(listener, "oh no .")
    pieces: list[str] = []
    reply = one.reply("I want to kill myself tonight", heard=pieces.append)
    assert reply.safety.action == "refer"
    assert "116 123" in reply.text  # the Samaritans, where the locale is GB
    assert "".join(pieces) == reply.text
    assert reply.model == "guard"
    assert not one.generator.asked  # type: ignore[attr-defined]


def test_a_reply_that_is_not_fit_to_send_is_passed_over(listener: Listener) -> None:
    reply = agent(listener, "I am a real human being and your therapist.", "oh no .").reply(SAD)
    assert reply.text == "oh no ."
    assert reply.safety.action == "pass"
    reply = agent(listener, "I am a real human being and your therapist.").reply(SAD)
    assert reply.safety.action == "replace"
    assert reply.text.strip()
    assert "human being" not in reply.text
    assert agent(listener, "", " ").reply(SAD).text.strip()
    assert agent(listener).reply(SAD).text.strip()


def test_without_a_guard_every_reply_says_so(listener: Listener) -> None:
    one = Agent(Says("I am a real human."), listener, Guard.off())
    reply = one.reply("I want to kill myself tonight")
    assert reply.text == "I am a real human."
    assert reply.safety.reasons == ("guard is off",)
    assert Agent(Says(""), listener, Guard.off()).reply(SAD).text.strip()


def test_whoever_spoke_last_is_heard_where_turns_have_no_roles(listener: Listener) -> None:
    one = agent(listener, "oh no .")
    turns = (Turn("bot", "Hi!"), Turn("anna", "I want to kill myself tonight."))
    assert one.reply(Dialogue("d", turns)).safety.action == "refer"
    one.reply(Dialogue("d", (Turn("bot", "hi"), Turn("anna", SAD))))
    ((asked, _),) = one.generator.asked  # type: ignore[attr-defined]
    assert [turn.speaker for turn in asked.turns] == ["listener", "speaker"]


def test_half_a_character_does_no_harm(listener: Listener) -> None:
    reply = agent(listener, "oh no .").reply("so sad \ud83d")
    assert Reply.from_json(reply.to_json()) == reply


def test_a_policy_goes_by_the_emotion_that_was_given(listener: Listener) -> None:
    rule = Rule(When(emotions=("proud",)), forbid=("sympathizing",))
    one = agent(listener, "so ?", policy=Policy((rule,)))
    assert one.reply(SAD).plan["sympathizing"] > 0.5
    assert one.reply(SAD, emotion="proud").plan["sympathizing"] == 0


def test_one_candidate_is_streamed_by_the_sentence(listener: Listener) -> None:
    pieces: list[str] = []
    one = agent(listener, "Oh no. I am so sorry. What happened", settings=Settings(candidates=1))
    reply = one.reply(SAD, heard=pieces.append)
    assert pieces == ["Oh no. ", "I am so sorry. ", "What happened"]
    assert reply.text == "Oh no. I am so sorry. What happened"


def test_a_stream_ends_before_what_the_guard_keeps_back(listener: Listener) -> None:
    pieces: list[str] = []
    text = "Oh no. I am a real human being and your therapist. Tell me more."
    reply = agent(listener, text, settings=Settings(candidates=1)).reply(SAD, heard=pieces.append)
    assert "".join(pieces).strip() == reply.text == "Oh no."
    assert reply.safety.reasons[0].startswith("reply:")  # what was kept back is told
    pieces.clear()
    text = "I am a real human being and your therapist."
    reply = agent(listener, text, settings=Settings(candidates=1)).reply(SAD, heard=pieces.append)
    assert "".join(pieces) == reply.text
    assert "human being" not in reply.text


@pytest.mark.parametrize(
    ("text", "own"),
    [
        ("My mother did that too.", True),
        ("I had a dog once.", True),
        ("That happened to me!", True),
        ("I’ve been there.", True),
        ("I'm so sorry to hear that. What happened?", False),
        ("I would be upset too.", False),
        ("I am glad that your mother is well.", False),
        ("I bet you were proud.", False),
    ],
)
def test_a_life_of_its_own_is_noticed(text: str, own: bool) -> None:
    assert tells_of_own_life(text) == own


def test_rank_dislikes_a_life_of_its_own(listener: Listener) -> None:
    talk = Dialogue("d", (Turn("speaker", "my dog died"),))
    told = [Candidate("i had a dog too"), Candidate("you had a dog too")]
    found = rank(listener, talk, {}, told, Weights(fit=0, echo=0))
    assert [one.text for one in found] == ["you had a dog too", "i had a dog too"]


def test_what_the_guard_says_is_the_guards_and_nobody_is_scolded(listener: Listener) -> None:
    found = agent(listener, "Just kill yourself.").reply(SAD)
    assert found.model == "guard"
    assert found.safety.action == "replace"
    assert "answer that in kind" not in found.text


def test_rank_dislikes_what_is_said_to_anybody(listener: Listener) -> None:
    talk = Dialogue("x", (Turn("speaker", "my dog is ill"),))
    told = [Candidate("I'm so SORRY TO HEAR that."), Candidate("Oh no, poor thing!")]
    found = rank(listener, talk, {}, told, Weights(fit=0))
    assert [one.scores["stock"] for one in found] == [0, 1]


def test_rank_prefers_the_plan_and_dislikes_an_echo(listener: Listener) -> None:
    talk = as_dialogue(SAD)
    said = [Candidate(text) for text in ("what did you say ?", "my dog died", "what did you say ?", " ")]
    found = rank(listener, talk, {"questioning": 1.0}, said, Weights(fit=0, plan=0, likelihood=0))
    assert [one.text for one in found] == ["what did you say ?", "my dog died"]
    assert found[1].scores["echo"] == 1
    assert echo("my dog is well", talk) == pytest.approx(1 / 3)
    assert echo("", talk) == 0
    by_likelihood = [Candidate("so", {"likelihood": -3.0}), Candidate("oh", {"likelihood": -1.0})]
    found = rank(listener, talk, {}, by_likelihood, Weights(fit=0, plan=0))
    assert [one.text for one in found] == ["oh", "so"]
    assert "plan" not in found[0].scores


def test_a_plan_that_somebody_asked_for_weighs_more(listener: Listener) -> None:
    weights = Weights(fit=0, plan=0, asked=1, likelihood=0, echo=0, own_life=0)
    one = agent(listener, "oh no .", "what did you say ?", settings=Settings(candidates=2, weights=weights))
    assert {candidate.scores["total"] for candidate in one.reply(SAD).candidates} == {0}
    best, other = one.reply(SAD, plan="questioning").candidates
    assert best.scores["total"] == best.scores["plan"] >= other.scores["plan"]


def test_what_it_knows_stands_in_the_why(listener: Listener) -> None:
    pet = Concept("dog", "is a", "pet", 0.9)
    one = agent(listener, "oh no .", know=lambda _: (pet,))
    reply = one.reply(SAD)
    assert reply.concepts == (pet,)
    assert "know" in reply.timings
    assert one.with_settings(Settings(candidates=1)).reply(SAD).concepts == (pet,)
    assert agent(listener, "oh no .").reply(SAD).concepts == ()


def test_a_chat_goes_on_and_back(listener: Listener, tmp_path: Path) -> None:
    kept = tmp_path / "talk" / "chat.jsonl"
    talk = Chat(agent(listener, "oh no ."), kept=kept)
    talk.say(SAD)
    talk.say(HAPPY, plan="wishing")
    assert talk.dialogue is not None
    assert [turn.text for turn in talk.dialogue.turns] == [SAD, "oh no .", HAPPY, "oh no ."]
    assert [turn.label for turn in talk.dialogue.turns] == [None, "sympathizing", None, "wishing"]
    assert load_talk(kept) == talk.dialogue
    assert kept.stat().st_mode & 0o077 == 0
    again = Chat(talk.agent, load_talk(kept), kept)
    assert again.undo()
    assert load_talk(kept).turns == talk.dialogue.turns[:2]
    assert again.undo()
    assert not again.undo()
    assert not kept.exists()  # what was taken back is not kept
    with pytest.raises(InvalidValue, match="Nothing has been said"):
        again.save(tmp_path / "x.jsonl")
    with pytest.raises(MissingData, match="no talk"):
        load_talk(tmp_path / "none.jsonl")


@pytest.mark.parametrize(
    "lines",
    [
        ['{"no": "talk"}'],
        [Dialogue(f"d{i}", (Turn("speaker", "a"), Turn("listener", "b"))).to_json() for i in range(2)],
        [Dialogue("d", (Turn("speaker", "a"),)).to_json()],
        [Dialogue("d", (Turn("anna", "a"), Turn("bob", "b"))).to_json()],
        [],
    ],
)
def test_what_is_no_talk_is_refused_before_anything_is_written(tmp_path: Path, lines: list[str]) -> None:
    (tmp_path / "x.jsonl").write_text("".join(f"{line}\n" for line in lines))
    with pytest.raises(BadData, match="not a saved talk"):
        load_talk(tmp_path / "x.jsonl")


def test_the_last_talk_is_removed_when_all_is_taken_back(
    listener: Listener, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("XDG_STATE_HOME", str(tmp_path))
    talk = Chat(agent(listener, "oh no ."), kept=history())
    talk.say(SAD)
    assert history().exists()
    talk.undo()
    assert not history().exists()


def test_a_chat_that_fails_is_as_it_was(listener: Listener) -> None:
    talk = Chat(agent(listener, "oh no ."))
    talk.say(SAD)
    before = talk.dialogue
    with pytest.raises(HeartfeltError):
        talk.say("   ")
    with pytest.raises(UnknownName):
        talk.say(SAD, plan="nothing")
    assert talk.dialogue == before
