"""The nouns: frozen, validated, JSON both ways; and the one way to derive examples."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from heartfelt import Dialogue, Reply, Turn, examples
from heartfelt.dialogue import Candidate, Concept, Verdict
from heartfelt.errors import InvalidValue
from heartfelt.labels import EMOTIONS


def chat(*speakers: str) -> Dialogue:
    return Dialogue("d", tuple(Turn(who, f"turn {i}") for i, who in enumerate(speakers)))


filled = st.text(min_size=1).filter(str.strip)
turns = st.builds(Turn, filled, filled, st.none() | st.text())
dialogues = st.builds(
    Dialogue,
    id=filled,
    turns=st.lists(turns, min_size=1, max_size=6).map(tuple),
    emotion=st.none() | st.sampled_from(EMOTIONS),
    situation=st.none() | st.text(),
    language=st.text(),
    meta=st.dictionaries(st.text(), st.integers(-(2**53), 2**53) | st.text() | st.lists(st.text())),
)


@given(dialogues)
def test_dialogue_survives_json(dialogue: Dialogue) -> None:
    assert Dialogue.from_json(dialogue.to_json()) == dialogue
    assert Dialogue.from_dict(dialogue.to_dict()) == dialogue


def test_reply_survives_json_with_all_of_its_why() -> None:
    reply = Reply(
        text="That sounds hard.",
        emotion={"lonely": 0.8, "sad": 0.2},
        plan={"acknowledging": 0.9},
        concepts=(Concept("move", "causes", "loneliness", 0.4),),
        candidates=(Candidate("That sounds hard.", {"fit": 1.5}),),
        safety=Verdict("pass", ("nothing found",)),
        model="test",
        timings={"respond": 0.2},
    )
    assert Reply.from_json(reply.to_json()) == reply


def test_values_are_frozen_and_hash() -> None:
    dialogue = chat("speaker")
    with pytest.raises(AttributeError):
        dialogue.id = "other"  # type: ignore[misc]
    assert len({dialogue, chat("speaker")}) == 1


@pytest.mark.parametrize(
    ("text", "complaint"),
    [
        ('{"id": "d", "turns": []}', "no turns"),
        ('{"id": " ", "turns": [{"speaker": "a", "text": "b"}]}', "no id"),
        ('{"id": "d", "turns": [{"speaker": "a", "text": " "}]}', "no text"),
        ('{"id": "d", "turns": [{"speaker": "", "text": "b"}]}', "no speaker"),
        ('{"id": "d", "turns": [{"speaker": "a", "text": 3}]}', r"Expected `str`, got `int` - at `\$.turns"),
        ('{"id": "d", "turns": [{"speaker": "a", "text": "b"}], "emtion": "sad"}', "unknown field `emtion`"),
        ('{"id": "d", "turns": [{"speaker": "a", "text": "b"}], "emotion": "hungry"}', "not one of the 32"),
        ('{"id": "d"}', "missing required field `turns`"),
        ("not json", "malformed"),
    ],
)
def test_what_is_not_a_dialogue_says_why(text: str, complaint: str) -> None:
    with pytest.raises(InvalidValue, match=complaint):
        Dialogue.from_json(text)


def test_examples_are_the_listeners_turns_with_the_turns_before_them() -> None:
    dialogue = chat("speaker", "listener", "speaker", "listener", "speaker", "listener")
    found = list(examples(dialogue))
    assert [e.index for e in found] == [1, 3, 5]
    assert [len(e.context) for e in found] == [1, 3, 4]  # rashkin2019's window of four turns
    assert found[2].context == dialogue.turns[1:5]
    assert found[2].response == dialogue.turns[5]


def test_examples_of_both_sides_and_the_whole_context() -> None:
    dialogue = chat("speaker", "listener", "speaker", "listener", "speaker", "listener")
    found = list(examples(dialogue, window=None, sides="both"))
    assert [(e.index, len(e.context)) for e in found] == [(i, i) for i in range(1, 6)]


def test_without_roles_whoever_opens_is_the_speaker() -> None:
    assert [e.index for e in examples(chat("MIRA", "TOM", "MIRA", "ADA"))] == [1, 3]


def test_a_lone_listener_is_no_speaker() -> None:
    assert chat("listener").speaker == "speaker"


def test_with_roles_the_listener_may_open() -> None:
    assert [e.index for e in examples(chat("listener", "speaker", "listener"))] == [2]


def test_bad_arguments_are_refused() -> None:
    with pytest.raises(InvalidValue, match="at least one turn"):
        list(examples(chat("a", "b"), window=0))
    with pytest.raises(InvalidValue, match="'listener' or 'both'"):
        list(examples(chat("a", "b"), sides="speaker"))  # type: ignore[arg-type]
