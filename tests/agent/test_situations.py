"""Replies that are there already: which situation a message is of, and what may then be said."""

from collections.abc import Sequence
from pathlib import Path
from typing import Any
from zlib import crc32

import numpy as np
import pytest
from click.testing import CliRunner

from heartfelt.agent import situations
from heartfelt.agent.agent import Agent, Settings
from heartfelt.agent.generator import Decoding
from heartfelt.agent.guard import Guard
from heartfelt.agent.listen import Heard, Listener, as_dialogue, groups, shipped
from heartfelt.agent.rank import Weights
from heartfelt.agent.situation_commands import check, find, measure
from heartfelt.agent.situations import VECTORS, Known, mood_chance, read_vectors
from heartfelt.corpora.heartfelt_situations import SHIPPED
from heartfelt.dialogue import LISTENER, SPEAKER, Dialogue, Turn
from heartfelt.errors import BadData, InvalidValue, MissingData
from heartfelt.labels import EMOTIONS
from heartfelt.text import words
from tests.agent.test_agent import HAPPY, PLAIN, SAD, Says

pytestmark = pytest.mark.filterwarnings("ignore")  # torch's exporter warns of itself

OWN = f"""@ sad | a dog has died
> {SAD}
> {SAD} today
= [sympathizing] i am so sorry . poor dog
= [questioning] how old was the dog that died ?

@ joyful | a game was won
> {HAPPY}
= [questioning] which game was that ?

@ sad | they tell more of the dog
< how was it ?
> it was so quiet
= [wishing] i wish you a new dog .
"""


class Words:
    """A matcher that goes by the words alone: each has its place in a vector."""

    fingerprint = "words"

    def contexts(self, talks: Sequence[Sequence[Turn]]) -> np.ndarray:
        return self.replies([" ".join(turn.text for turn in talk) for talk in talks])

    def replies(self, texts: Sequence[str]) -> np.ndarray:
        found = np.zeros((len(texts), 5000), np.float32)
        for row, text in zip(found, texts, strict=True):
            for word in words(text):
                row[crc32(word.encode()) % 5000] += 1
        return found / np.maximum(np.linalg.norm(found, axis=1, keepdims=True), 1e-9)


@pytest.fixture(scope="module")
def listener(tiny_encoder: Path) -> Listener:
    return Listener(tiny_encoder)


@pytest.fixture
def matcher() -> Any:
    return Words()


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    (tmp_path / "mine").mkdir()
    (tmp_path / "mine" / "dogs.txt").write_text(OWN, encoding="utf-8")
    return tmp_path / "mine"


@pytest.fixture
def known(matcher: Any, folder: Path) -> Known:
    return Known(matcher, folder)


def talk(*texts: str) -> Dialogue:
    sides = (SPEAKER, LISTENER) * len(texts)
    return Dialogue("talk", tuple(Turn(side, text) for side, text in zip(sides, texts, strict=False)))


def test_a_message_finds_its_situation(known: Known) -> None:
    found = known.say(as_dialogue(SAD))
    assert {one.text for one in found} == {"i am so sorry . poor dog", "how old was the dog that died ?"}
    assert all(one.about == "a dog has died" and 0.4 < one.scores["like"] < 1 for one in found)
    assert not known.say(as_dialogue(PLAIN))


def test_likeness_is_halfway_between_messages_and_replies(matcher: Any, tmp_path: Path) -> None:
    (tmp_path / "one.txt").write_text("@ - | both\n> tea\n> milk\n= [neutral] sugar\n")
    ((_, like),) = Known(matcher, tmp_path).find([Turn(SPEAKER, "tea milk sugar sugar")])
    # (1, 1, 2) / sqrt(6) with the mean message (.5, .5, 0) and the reply (0, 0, 1)
    assert like == pytest.approx((1 + 2) / 6**0.5 / 2, abs=1e-3)


def test_a_mood_that_was_heard_is_nearer(matcher: Any, tmp_path: Path) -> None:
    (tmp_path / "two.txt").write_text(
        "@ proud | glad tears\n> i cried so much\n= [wishing] well done\n\n"
        "@ sad | sad tears\n> i cried so much\n= [wishing] oh dear\n"
    )
    known, told = Known(matcher, tmp_path), [Turn(SPEAKER, "i cried so much well oh")]
    for mood, first in (("proud", "glad tears"), ("sad", "sad tears")):
        felt = Heard(emotion={mood: 1.0}, group=groups({name: float(name == mood) for name in EMOTIONS}))
        assert known.find(told, felt)[0].situation.name == first
    assert mood_chance(None, felt) == 0.0 and mood_chance("sad", felt) == 1.0


def test_what_is_told_otherwise_is_kept_apart(matcher: Any, tmp_path: Path) -> None:
    (tmp_path / "one.txt").write_text(
        "@ sad | a dog has died\n> tea\n~ milk\n< so ?\n~ cream\n= [neutral] sugar\n"
    )
    known = Known(matcher, tmp_path)
    (one,) = known.situations
    assert [turn.text for message in one.otherwise for turn in message] == ["milk", "so ?", "cream"]
    ((_, like),) = known.find([Turn(SPEAKER, "tea sugar")])
    assert like == pytest.approx(2 / 2**0.5 / 2, abs=1e-3)  # milk is not in it


def test_only_what_was_asked_for_and_nothing_twice(known: Known) -> None:
    asked = known.say(
        as_dialogue(SAD), {"questioning": 0.2, "sympathizing": 0.0}
    )  # a policy forbids the other
    assert [one.text for one in asked] == ["how old was the dog that died ?"]
    assert not known.say(as_dialogue(SAD), {"wishing": 1.0})
    assert known.say(as_dialogue(SAD), emotion="devastated")
    assert not known.say(as_dialogue(SAD), emotion="joyful")
    again = known.say(talk(SAD, "I am so sorry! Poor dog", f"{SAD} , how old , that poor dog"))
    assert {one.text for one in again} == {"how old was the dog that died ?"}


def test_an_answer_within_a_talk_is_found_by_what_it_answers(known: Known) -> None:
    found = known.say(talk(PLAIN, "how was it ?", "it was quiet"))
    assert {one.text for one in found} == {"i wish you a new dog ."}


def test_who_is_still_in_a_situation_hears_more_of_it_and_is_not_asked_again(known: Known) -> None:
    sorry, asks = "i am so sorry . poor dog", "how old was the dog that died ?"
    assert {one.text for one in known.say(talk(SAD, "did you cry ?", "no"))} == {sorry}
    assert {one.text for one in known.say(talk(SAD, "oh .", "no"))} == {sorry, asks}
    assert {one.text for one in known.say(talk(SAD, "oh .", "no", sorry, "no"))} == {asks}
    assert not known.say(talk(SAD, "oh .", "no"), felt=Heard(neutral=0.9))  # they talk of something else now


def test_who_changes_the_subject_is_heard(known: Known) -> None:
    found = known.say(talk(HAPPY, "how was it ?", f"{SAD} , the poor dog died"))
    assert {one.about for one in found} == {"a dog has died"}


def test_a_talk_that_turns_does_not_go_on_with_what_was_told_before(known: Known) -> None:
    glad = Heard(emotion={"joyful": 1.0}, group={"joy": 0.95}, neutral=0.05)
    told = talk(SAD, "oh .", "the sun shines on us today , hooray")
    assert {one.about for one in known.say(told)} == {"a dog has died"}
    assert not known.say(told, last=glad)
    assert known.say(told, last=Heard(group={"joy": 0.95}, neutral=0.9))  # small talk is not glad


def test_a_short_answer_opens_no_other_subject(matcher: Any, folder: Path) -> None:
    (folder / "short.txt").write_text("@ - | somebody says no\n> no\n= [neutral] no it is .\n")
    known = Known(matcher, folder)
    assert {one.text for one in known.say(as_dialogue("no"))} == {"no it is ."}
    assert not known.say(talk(PLAIN, "did you cry ?", "no"))


def test_the_agent_sends_what_it_knows_and_writes_the_rest(listener: Listener, known: Known) -> None:
    says = Says("what is new ?")
    agent = Agent(says, listener, Guard("GB", ear=False), known=known)
    reply = agent.reply(SAD)
    assert reply.text in ("i am so sorry . poor dog", "how old was the dog that died ?")
    assert (reply.model, says.asked) == ("heartfelt-situations", [])
    assert "written by heartfelt-situations for: a dog has died" in reply.why
    assert agent.reply(PLAIN).model == "says"
    assert agent.reply(SAD, plan="wishing").model == "says"  # nothing known does that
    heard: list[str] = []
    streaming = agent.with_settings(Settings(candidates=1))
    assert streaming.reply(SAD, heard=heard.append).text == "".join(heard)


def test_what_the_guard_keeps_back_is_written_anew(listener: Listener, matcher: Any, tmp_path: Path) -> None:
    (tmp_path / "bad.txt").write_text(
        f"@ sad | a dog has died\n> {SAD}\n= [neutral] I am a human being , poor dog died\n"
    )
    agent = Agent(Says("oh no ."), listener, Guard("GB", ear=False), known=Known(matcher, tmp_path))
    assert (agent.reply(SAD).text, agent.reply(SAD).model) == ("oh no .", "says")


def test_a_seed_chooses_and_luck_varies(listener: Listener, matcher: Any, tmp_path: Path) -> None:
    told = f"@ sad | a dog has died\n> {SAD}\n= [sympathizing] poor dog\n= [sympathizing] dear dog\n"
    (tmp_path / "two.txt").write_text(told)
    known = Known(matcher, tmp_path)

    def said(seed: int, temperature: float = 2.0) -> str:
        settings = Settings(
            decoding=Decoding(seed=seed, temperature=temperature), weights=Weights(plan=0, fit=0)
        )
        agent = Agent(Says("-"), listener, Guard("GB", ear=False), settings=settings, known=known)
        return agent.reply(SAD).text

    assert said(3) == said(3)
    assert len({said(seed) for seed in range(20)}) == 2
    assert len({said(seed, 0.0) for seed in range(20)}) == 1


def test_a_reply_that_is_asked_to_be_short_is_short(listener: Listener, known: Known) -> None:
    settings = Settings(decoding=Decoding(max_tokens=15))
    agent = Agent(Says("oh"), listener, Guard("GB", ear=False), settings=settings, known=known)
    assert {agent.reply(SAD).text for _ in range(5)} == {"i am so sorry . poor dog"}


def test_vectors_are_made_once(
    known: Known, matcher: Any, folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    here = known._vectors
    monkeypatch.setattr(Words, "contexts", None)  # from now on, whoever makes them fails
    assert (Known(matcher, folder)._vectors == here).all()
    monkeypatch.undo()
    assert known.keep() == folder / VECTORS
    whole = (folder / VECTORS).read_bytes()
    (folder / "more.txt").write_text("@ - | hello\n> hello\n= [neutral] hello .\n")
    assert len(Known(matcher, folder)._vectors) == len(here) + 1  # what was kept is of others
    for broken in (b"", b"broken", whole[: len(whole) // 2]):
        (folder / VECTORS).write_bytes(broken)
        assert read_vectors(folder / VECTORS, known._made_of) is None


def test_a_broken_file_is_told_whole(tmp_path: Path) -> None:
    run = CliRunner()
    (tmp_path / "bad.txt").write_text(
        "@ sad | no replies\n> hello\n\n@ glad | no emotion\n> a\n= [wishing] b\n"
    )
    found = run.invoke(check, [str(tmp_path)])
    assert isinstance(found.exception, BadData) and found.output.startswith("0 situations")
    assert "bad.txt:1:" in str(found.exception) and "bad.txt:4:" in str(found.exception)
    (tmp_path / "bad.txt").write_text(
        "@ sad | it claims to be one\n> hello\n= [neutral] I am a human therapist.\n"
    )
    assert "the guard would not send" in str(run.invoke(check, [str(tmp_path)]).exception)
    with pytest.raises(MissingData, match="no situations"):
        list(situations.own(tmp_path / "nothing"))


def test_the_shipped_situations_are_sound() -> None:
    """Nobody is told the same in two situations; the guard lets all pass; the vectors are those of these messages."""
    ours = tuple(situations.own(SHIPPED))
    texts = [reply.text for one in ours for reply in one.replies]
    assert len(texts) == len(set(texts)) > 14_000
    guard = Guard("GB", ear=False)
    assert not [text for text in texts if guard.check(text).action != "pass"]
    assert not [text for text in texts if "sorry to hear" in text.lower()]


def test_the_shipped_vectors_are_fresh() -> None:
    known = Known(shipped())
    vectors = read_vectors(SHIPPED / VECTORS, known._made_of)
    assert vectors is not None, "heartfelt situations build heartfelt/assets/situations"
    assert len(vectors) == len(known) == 1_800


def test_without_a_home_they_are_found_all_the_same(monkeypatch: pytest.MonkeyPatch) -> None:
    def nowhere() -> Path:
        raise RuntimeError("Could not determine home directory.")

    monkeypatch.setattr(situations, "cache_folder", nowhere)
    assert Known(shipped()).find([Turn(SPEAKER, "My dog died last night.")])


def test_find_shows_what_could_be_said() -> None:
    run = CliRunner()
    shown = run.invoke(find, ["My dog died last night."])
    assert shown.exit_code == 0 and "sympathizing" in shown.output
    assert "speaks by the mood that it hears" in run.invoke(find, ["zxcv qwer uiop"]).output


def test_how_often_a_situation_is_found_that_is_told_otherwise(tmp_path: Path) -> None:
    dogs = "@ sad | a dog has died\n> My dog died last night.\n~ Our dog died today.\n= [wishing] Sorry for your dog."
    work = "@ proud | got promoted\n> I got promoted!\n~ They promoted me at work today!\n= [wishing] Congratulations!"
    (tmp_path / "own.txt").write_text(f"{dogs}\n\n{work}\n")
    done = CliRunner().invoke(measure, ["--folder", str(tmp_path)])
    assert done.exit_code == 0, done.output
    begins, within = (
        line.split() for line in done.output.splitlines() if line.startswith(("to begin", "within a"))
    )
    assert begins[3:5] == ["2", "100.0%"] and within[3:] == ["0", "-", "-", "-"]
    (tmp_path / "own.txt").write_text(
        "@ sad | a dog has died\n> My dog died.\n= [wishing] I wish you strength.\n"
    )
    done = CliRunner().invoke(measure, ["--folder", str(tmp_path)])
    assert isinstance(done.exception, InvalidValue)
