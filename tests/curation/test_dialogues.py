"""Who speaks when, where dialogues end, what is cleaned away, what was there before, what is most emotional."""

from collections import Counter
from pathlib import Path

import numpy as np
import pytest

from heartfelt.corpora.near_duplicates import shingles
from heartfelt.curation import dialogues, duplicates, labelling, turn_training, turns
from heartfelt.curation.dialogues import Cleaning, Spoken
from heartfelt.curation.language import language
from heartfelt.curation.subtitle import Line
from heartfelt.dialogue import Dialogue, Turn

SIMPLE = turns.Segmenter({"a ends ?": 2.0, "b ends ?": 2.0}, -1.0)


def said(text: str, start: float | None = None, end: float | None = None) -> Spoken:
    return Spoken(text, start, end, 1)


def test_a_score_is_a_sum_of_weights() -> None:
    lines = [Line("Are you well?"), Line("I am."), Line("It was the tea.")]
    assert SIMPLE.scores(lines) == [1.0, -1.0]
    assert [turn.text for turn in dialogues.spoken(lines, SIMPLE)] == [
        "Are you well?",
        "I am. It was the tea.",
    ]


def test_the_shipped_segmenter() -> None:
    block = [Line("Are you coming?", 1, None, 1, 1, dash=True), Line("No.", None, 3, 1, 1, dash=True)]
    one = [Line("I went home.", 4, None, 2, 2), Line("I was tired.", None, 6, 2, 2)]
    dashed = [*block, *one] * 5
    lines = []
    for i, line in enumerate(dashed):
        shift = 2 * (i // 4)
        lines.append(Line(line.text, line.start, line.end, line.first + shift, line.last + shift, line.dash))
    changes = turns.shipped().changes(lines)
    assert changes[0] is True
    assert changes[2] is False
    assert (turns.FOLDER / "weights.json").stat().st_size < 200_000


def test_features_do_not_hang_on_what_is_far_away() -> None:
    lines = [Line(text, i, i + 0.5, i, i) for i, text in enumerate(["One?", "Two.", "Three.", "Four."] * 3)]
    shapes = [turns.shape(line) for line in lines]
    film = turns.Film.of(lines)
    assert list(turns.features(lines, shapes, film, 4)) == list(
        turns.features(lines[3:7], shapes[3:7], film, 1)
    )


def test_a_script_tells_who_speaks() -> None:
    script = [
        ("ANN", "Where have you been all this long night? I was worried.", 1),
        ("BEN", "I was out with the dog.", 2),
        ("BEN", "He ran into the woods again.", 3),
        ("ANN", "You should keep him on the leash.", 7),
    ]
    spoken = (
        "Where have you been all this long night?",
        "I was worried.",
        "I was out with the dog.",
        "He ran into the woods again.",
        "This was never in the script at all.",
        "You should keep him on the leash.",
    )
    lines = [Line(text) for text in spoken]
    assert turn_training.aligned(lines, script) == [False, True, False, None, None]
    # Ann's answer is four utterances on: somebody else spoke between, but it is Ann who speaks now.
    del lines[4]
    assert turn_training.aligned(lines, script) == [False, True, False, True]


def test_training_learns_a_rule() -> None:
    rows = tuple((f"a ends {mark}", f"noise {i % 7}") for i in range(60) for mark in ("?", "."))
    changes = tuple(row[0] == "a ends ?" for row in rows)
    layout = tuple(("pause ≤0",) if i % 2 else ("pause ≤5",) for i in range(len(rows)))
    scripted = turn_training.Boundaries((), rows, changes)
    weights, bias = turn_training.train(scripted, [turn_training.Boundaries(layout, rows, changes)])
    score = {mark: bias + weights[f"a ends {mark}"] for mark in "?."}
    assert score["?"] > 0 > score["."]


def test_five_seconds_end_a_dialogue_and_missing_times_join() -> None:
    timed = [("a", 0, 1), ("b", 6, 7), ("c", 12.1, None), ("d", 90, 91), ("e", None, 95), ("f", 101, 102)]
    spoken = [said(*each) for each in timed]
    assert [[turn.text for turn in part] for part in dialogues.cut(spoken)] == [
        ["a", "b"],
        ["c", "d", "e"],
        ["f"],
    ]


@pytest.mark.parametrize(
    ("text", "before", "why"),
    [
        ("I am fine.", None, ""),
        ("?", None, "too short"),
        ("so " * 101, None, "too long"),
        ("Previously on our show, everybody died.", None, "a recap of an earlier episode"),
        ("555 - 0198 / 22 ok", None, "hardly any letters"),
        ("go go go go go go go now", None, "one word over and over"),
        ("Stop it!", "Stop it.", "repeats the turn before"),
    ],
)
def test_why_a_turn_must_go(text: str, before: str | None, why: str) -> None:
    assert dialogues.unfit(text, before, Cleaning()) == why


def test_what_follows_a_removed_turn_goes_with_it_and_is_counted() -> None:
    counts: Counter[str] = Counter()
    spoken = [said("I am here."), said("So am I."), said("?"), said("What?"), said("Nothing.")]
    assert [turn.text for turn in dialogues.cleaned(spoken, Cleaning(), counts)] == ["I am here.", "So am I."]
    assert counts == {"turns: too short": 1, "turns: after one that was removed": 2}


def film(*texts: str, **limits: bool) -> tuple[list[Dialogue], Counter[str]]:
    counts: Counter[str] = Counter()
    lines = [Line(text, 3.0 * i, 3.0 * i + 2, i, i) for i, text in enumerate(texts)]
    found = dialogues.of_film("f.srt", "f", lines, turns.Segmenter({}, 1.0), Cleaning(**limits), counts)  # type: ignore[arg-type]
    return list(found), counts


def test_every_turn_is_accounted_for() -> None:
    found, counts = film("Hello, my dear friend.", "Hello to you as well.", "?", "And what now?")
    assert [turn.speaker for turn in found[0].turns] == ["A", "B"]
    assert (found[0].id, found[0].meta) == ("f.srt:0", {"film": "f", "start": 0.0, "end": 5.0})
    gone = sum(count for name, count in counts.items() if name.startswith("turns: "))
    assert counts["turns"] == counts["clean turns"] + gone == 4


def test_other_languages_are_refused() -> None:
    found, counts = film(
        "No sé qué quieres de mí, pero está bien.", "Todo esto es para ella, por favor, que no lo sepa."
    )
    assert not found
    assert counts["dialogues: not English"] == 1
    assert language(["I do not know what you want from me, but it is fine."]) == "en"
    assert language(["أنا لا أعرف ماذا تريد مني"]) == "?"
    assert language(["Yes.", "No."]) == ""


def test_filters_are_optional() -> None:
    talk = ("Write to ann@example.org, will you?", "Kill yourself, you worthless piece of trash.")
    assert film(*talk)[0][0].turns[0].text == talk[0]
    found, counts = film(talk[0], "I will write to her.", private=True)
    assert found[0].turns[0].text == "Write to [e-mail], will you?"
    assert counts["turns masked"] == 1
    found, counts = film(*talk, toxic=True)
    assert not found
    assert counts["dialogues: toxic"] == 1


def dialogue(id_: str, *texts: str) -> Dialogue:
    return Dialogue(id_, tuple(Turn("A", text) for text in texts))


def test_doubles_are_found_over_files(tmp_path: Path) -> None:
    long = (
        "the quick brown fox jumps over the lazy dog while the old grey cat sleeps in the warm sun all day long "
        * 3
    )
    parts = [
        [dialogue("a", "We must leave before the storm comes to the valley tonight."), dialogue("b", long)],
        [
            dialogue("c", "We must leave, before the storm comes to the valley tonight!"),
            dialogue("d", f"{long} amen"),
        ],
        [dialogue("e", "Nobody told me that there would be a test in the morning."), dialogue("f", "A", "B")],
    ]
    for i, part in enumerate(parts):
        np.save(tmp_path / f"{i}.npy", duplicates.signed(part))
    stored = duplicates.Stored([tmp_path / f"{i}.npy" for i in range(3)])
    assert duplicates.twins(stored).tolist() == [-1, -1, 0, 1, -1, -1]


def test_signatures_tell_how_alike_texts_are() -> None:
    words = [f"w{i}" for i in range(400)]
    base = dialogue("a", " ".join(words[:100]))
    for shared in (20, 50, 80, 95):
        other = dialogue("b", " ".join(words[:shared] + words[200 : 300 - shared]))
        one, two = (shingles(d.turns[0].text) for d in (base, other))
        signed = duplicates.signed([base, other])
        assert (signed[0] == signed[1]).mean() == pytest.approx(len(one & two) / len(one | two), abs=0.17)


def test_no_dialogues_are_no_doubles(tmp_path: Path) -> None:
    np.save(tmp_path / "0.npy", duplicates.signed([]))
    assert duplicates.twins(duplicates.Stored([tmp_path / "0.npy"])).tolist() == []


def test_top_takes_the_earlier_of_equals() -> None:
    assert labelling.top([0.2, 0.9, 0.5, 0.9, 0.5], 3) == [1, 2, 3]
    assert labelling.top([0.1, 0.2], 5) == [0, 1]
    assert labelling.top([0.1, 0.2], 0) == []
    values = np.random.default_rng(0).random(1000).tolist()
    assert labelling.top(values, 100) == sorted(np.argsort(values)[-100:].tolist())
