"""Published formats, each in a few self-written rows, aligned to a corpus of two dialogues."""

from pathlib import Path

import pytest

from heartfelt.dialogue import Dialogue, Turn
from heartfelt.errors import BadData, UnknownName
from heartfelt.evaluation import Header, Output, Outputs, importers
from heartfelt.evaluation.align import complete, respelt, spelt_alike

CORPUS = [
    Dialogue(
        "c1",
        (
            Turn("speaker", "I can't sleep."),
            Turn("listener", "Why's that?"),
            Turn("speaker", "My dog isn't well..."),
            Turn("listener", "Oh, I'm sorry!"),
        ),
        emotion="sad",
    ),
    Dialogue(
        "c2", (Turn("speaker", "I won!"), Turn("listener", "That's great, “well done”!")), emotion="joyful"
    ),
    Dialogue("c3", (Turn("speaker", "Hello."), Turn("listener", "Hi.")), emotion="content"),
]
HEADER = Header("import", "empathetic_dialogues", "test")

MIME = """### COMMENT: a comment ###
EVAL	Loss	PPL
test	3.6	37.5
emotion:sad	vader-score: 0.01	predicted_emotion: sad
Context:['i can not sleep .']
Topk:oh no . why ?
Beam: reedy beams .
Greedy:ed yes : really ?
Ref:why is that ?
----------
emotion:sad	vader-score: 0.01	predicted_emotion: angry
Context:['i can not sleep .', 'why is that ?', 'my dog is not well ...']
Topk:poor dog .
Beam: i am sorry .
Greedy:i am sorry .
Ref:oh , i am sorry !
----------
emotion:joyful	vader-score: 0.5	predicted_emotion: joyful
Context:['i lost !']
Topk:yay .
Beam: yay .
Greedy:yay .
Ref:that is great , well done !
----------
"""


def written(tmp_path: Path, name: str, text: str) -> Path:
    path = tmp_path / name
    path.write_text(text, encoding="utf-8")
    return path


def test_mime_with_prefixes_cut_exactly_and_rows_aligned(tmp_path: Path) -> None:
    systems = importers.load("mime", written(tmp_path, "output.txt", MIME), CORPUS, HEADER)
    assert [outputs.header.system for outputs in systems] == ["mime-greedy", "mime-beam", "mime-topk"]
    greedy, beam, topk = systems
    # str.strip("Greedy:") would leave "s : really ?", and of "oh no" in Topk lines "h no".
    assert [row.reply for row in greedy.rows] == ["ed yes : really ?", "i am sorry ."]
    assert beam.rows[0].reply == "reedy beams ."
    assert topk.rows[0].reply == "oh no . why ?"
    assert greedy.keys == (("c1", 1), ("c1", 3))
    assert [row.guesses for row in greedy.rows] == [("sad",), ("angry",)]
    assert greedy.rows[0].reference == "why is that ?"  # as the peer spells it, like its replies
    assert greedy.header.source == "output.txt"


def test_rows_that_match_no_turn_are_listed_in_the_header(tmp_path: Path) -> None:
    [greedy, *_] = importers.load("mime", written(tmp_path, "output.txt", MIME), CORPUS, HEADER)
    assert greedy.header.unmatched == ("line 18: that is great , well done !",)


def test_nothing_matches(tmp_path: Path) -> None:
    with pytest.raises(
        BadData, match=r"No row of output.txt \(3\) matches a turn of empathetic_dialogues test"
    ):
        importers.load("mime", written(tmp_path, "output.txt", MIME), CORPUS[2:], HEADER)


def test_moel(tmp_path: Path) -> None:
    text = (
        "Emotion: joyful\nContext: ['i won !']\ntrs: a\ntrs+multitask: b\nMOE: trs is fun\nMOE+oracle: d\n"
        "ref: that is great , well done !\n\n"
    )
    systems = importers.load("moel", written(tmp_path, "m.txt", text), CORPUS, HEADER)
    assert {o.header.system: o.rows[0].reply for o in systems} == {
        "transformer": "a", "transformer-multitask": "b", "moel": "trs is fun", "moel-oracle": "d",
    }  # fmt: skip
    assert systems[0].rows[0].gold == "joyful"


def test_empdg(tmp_path: Path) -> None:
    text = (
        "emotion:sad \nContext:[\"i can not sleep .\"] \nEmotion_context:['sleep'] \nPred:pred : red  \n"
        "Ref:why is that ? \n"
    )
    [outputs] = importers.load("empdg", written(tmp_path, "empdg_EmoPrepend.txt", text), CORPUS, HEADER)
    assert outputs.header.system == "empdg-repo-emoprepend"
    assert outputs.rows[0].reply == "pred : red"
    assert outputs.keys == (("c1", 1),)


def test_llm_guesses_follow_the_turns_and_may_be_no_answer(tmp_path: Path) -> None:
    text = 'The user\'s emotion is "Sad". He is lonely.\nNervous, I think.\nfeels joyful here\n'
    [outputs] = importers.load("llm4ed", written(tmp_path, "g.txt", text), CORPUS, HEADER)
    assert [row.guesses for row in outputs.rows] == [("sad",), (), ("joyful",)]
    assert [row.gold for row in outputs.rows] == [
        "sad",
        "sad",
        "joyful",
    ]  # the last dialogue is missing in peers
    with pytest.raises(BadData, match=r"2 rows; .* has 4 turns to answer \(3 without its last dialogue\)"):
        importers.load("llm4ed", written(tmp_path, "g.txt", "sad\nsad\n"), CORPUS, HEADER)


@pytest.mark.parametrize(
    ("name", "text", "keys"),
    [
        ("a.csv", 'context,response,target\n"I can\'t sleep.","so, why?","Why\'s that?"\n', (("c1", 1),)),
        ("a.tsv", "conv_id\tturn\tprediction\nc1\t3\toh\nc2\t1\tyay\n", (("c1", 3), ("c2", 1))),
        ("a.csv", "Reply,Reference\noh,That's great - well done!\n", (("c2", 1),)),
    ],
)
def test_tables(tmp_path: Path, name: str, text: str, keys: tuple[tuple[str, int], ...]) -> None:
    [outputs] = importers.load("table", written(tmp_path, name, text), CORPUS, HEADER)
    assert outputs.keys == keys
    assert outputs.header.system == "a"


@pytest.mark.parametrize(
    ("importer", "text", "message"),
    [
        ("mime", "nothing here\n", "has no line that starts with 'emotion:'"),
        ("mime", "emotion:sad\nGreedy:a\nRef:b\n", "1: the record has no line 'context:'"),
        ("mime", "emotion:sad\nContext:oops\nGreedy:a\nRef:b\n", "1: the context is not a list"),
        ("mime", MIME.replace("Greedy:i am sorry .", "Greedy:"), ":11: an empty reply for turn 3 of c1"),
        ("table", "what,else\na,b\n", ":2: no reply; its column is called one of: reply"),
        ("table", "reply,dialogue,turn\na,c1,first\n", "the turn is 'first', not a number"),
        ("table", "reply,turn\na\n", "1 fields where the header has 2$"),  # no word of --strict
        ("table", "reply,turn,reply\na,1,b\n", ":1: two columns are called 'reply'$"),
    ],
)
def test_bad_files_are_refused_by_line(tmp_path: Path, importer: str, text: str, message: str) -> None:
    with pytest.raises(BadData, match=message):
        importers.load(importer, written(tmp_path, "x.csv", text), CORPUS, HEADER)


TWICE = [
    Dialogue("t1", (Turn("speaker", "I won!"), Turn("listener", "That is great!")), emotion="joyful"),
    Dialogue("t2", (Turn("speaker", "I lost."), Turn("listener", "That is great.")), emotion="sad"),
    Dialogue("t3", (Turn("speaker", "I sleep."), Turn("listener", "So do I.")), emotion="sad", language="ar"),
]


def test_a_reference_that_fits_two_turns_is_not_guessed(tmp_path: Path) -> None:
    """Without context the second and third row fit t1 and t2; the emotion of the fourth tells them apart."""
    text = (
        "reply,reference,emotion\na,So do I,\nb,That is great,\nc,That is great,proud\nd,That is great,sad\n"
    )
    [outputs] = importers.load("table", written(tmp_path, "a.csv", text), TWICE, HEADER)
    assert [(row.dialogue, row.reply, row.gold) for row in outputs.rows] == [
        ("t3", "a", "sad"),
        ("t2", "d", "sad"),
    ]
    why = "(ambiguous: fits 2 turns; give a context, or dialogue and turn)"
    assert outputs.header.unmatched == (f"line 3: That is great {why}", f"line 4: That is great {why}")
    text = "reply,reference,emotion\na,That is great,sad\nb,That is great,sad\n"
    [outputs] = importers.load("table", written(tmp_path, "a.csv", text), TWICE, HEADER)
    assert outputs.keys == (("t2", 1),)  # the second is not sent to t1
    text = "reply,reference,context\nb,That is great,I lost\n"
    [outputs] = importers.load("table", written(tmp_path, "a.csv", text), TWICE, HEADER)
    assert outputs.keys == (("t2", 1),)


def test_an_emotion_unlike_the_corpuss_is_kept_and_listed(tmp_path: Path) -> None:
    text = "reply,dialogue,turn,emotion\na,t1,1,sad\n"
    [outputs] = importers.load("table", written(tmp_path, "a.csv", text), TWICE, HEADER)
    assert outputs.rows[0].gold == "sad"
    assert outputs.header.disputed == ("turn 1 of t1",)
    assert complete(outputs, TWICE).rows[0].gold == "sad"


def test_a_second_row_for_a_turn_is_called_so(tmp_path: Path) -> None:
    text = "reply,dialogue,turn\na,t1,1\nb,t1,1\n"
    [outputs] = importers.load("table", written(tmp_path, "a.csv", text), TWICE, HEADER)
    assert outputs.header.unmatched == ("line 3: b (a second row for the turn of line 2)",)


def test_a_reference_that_is_not_the_turns_is_listed(tmp_path: Path) -> None:
    text = "reply,dialogue,turn,reference\na,c1,3,Oh_comma_ I am sorry\nb,c2,1,Hi\n"
    [outputs] = importers.load("table", written(tmp_path, "a.csv", text), CORPUS, HEADER)
    assert outputs.keys == (("c1", 3),)  # ED's own way to write a comma
    assert outputs.header.unmatched[0].startswith(
        "line 3: Hi (the corpus has another reference there: That's great"
    )
    text = "reply,reference\na,That is great\n"
    with pytest.raises(BadData, match=r"the first: line 2: That is great \(ambiguous: fits 2 turns"):
        importers.load("table", written(tmp_path, "a.csv", text), TWICE, HEADER)


def test_eds_own_turn_column_counts_from_one(tmp_path: Path) -> None:
    text = "reply,conv_id,utterance_idx\na,c1,4\n"
    [outputs] = importers.load("table", written(tmp_path, "a.csv", text), CORPUS, HEADER)
    assert outputs.keys == (("c1", 3),)
    with pytest.raises(BadData, match="2: utterance_idx is 0; it counts from 1"):
        importers.load("table", written(tmp_path, "a.csv", text.replace("4", "0")), CORPUS, HEADER)


def test_the_language_is_the_corpuss(tmp_path: Path) -> None:
    text = "reply,reference\na,So do I\n"
    [outputs] = importers.load("table", written(tmp_path, "a.csv", text), TWICE[2:], HEADER)
    assert outputs.header.language == "ar"


def test_unknown_format() -> None:
    with pytest.raises(UnknownName, match=r"no importer 'moe'\. Did you mean 'moel'"):
        importers.find("moe")


def test_spelt_alike() -> None:
    assert spelt_alike("I can't — it’s “5 %”!") == spelt_alike("i can not it is 5 %") == "icannotitis5"


def test_complete_from_the_corpus() -> None:
    bare = Outputs(Header("x"), (Output("c1", 3, reply="oh no"),))
    [row] = complete(bare, CORPUS).rows
    assert (row.reference, row.gold, row.context[-1]) == ("Oh, I'm sorry!", "sad", "My dog isn't well...")
    with pytest.raises(BadData, match="x, row 1: the corpus has no turn 9 of c1"):
        complete(Outputs(Header("x"), (Output("c1", 9, reply="oh no"),)), CORPUS)


@pytest.mark.parametrize(
    ("fields", "message"),
    [
        (
            {"reference": "What?"},
            "x, row 1: the reference of turn 1 of c1 is 'What\\?', in the corpus 'Why's that\\?'",
        ),
        ({"gold": "angry"}, "x, row 1: the gold of turn 1 of c1 is 'angry', in the corpus 'sad'"),
    ],
)
def test_what_the_corpus_says_otherwise(fields: dict[str, str], message: str) -> None:
    with pytest.raises(BadData, match=message):
        complete(Outputs(Header("x"), (Output("c1", 1, reply="oh", **fields),)), CORPUS)  # type: ignore[arg-type]
    spelt = Outputs(Header("x", "ed"), (Output("c1", 1, reply="oh", reference="why is that ?"),))
    assert complete(spelt, CORPUS, "ed").rows[0].reference == "why is that ?"
    with pytest.raises(BadData, match="x answers ed, as its header says, not esconv"):
        complete(spelt, CORPUS, "esconv")


def test_spelling_as_the_peers_do() -> None:
    row = Output(
        "c1", 1, reply="Oh no! She's 1,000 % sure, I can't… cannot.", reference='You\'re "right"... no?'
    )
    [spelt] = respelt(Outputs(Header("x"), (row,))).rows
    assert spelt.reply == "oh no ! she 's 1,000 % sure , i can not… can not ."
    assert spelt.reference == "you are right ... no ?"
