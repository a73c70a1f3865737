"""What `describe` says, on fixtures by hand and on the real corpus against rashkin2019's Figure 3."""

from pathlib import Path

import pytest

from heartfelt.corpora.describe import describe
from heartfelt.corpora.near_duplicates import Openings

# rashkin2019, Figure 3: share of the emotion in percent, top speaker words, top listener words.
FIGURE_3 = """
surprised 5.1 got,shocked,really that's,good,nice
excited 3.8 going,wait,i'm that's,fun,like
angry 3.6 mad,someone,got oh,would,that's
proud 3.5 got,happy,really that's,great,good
sad 3.4 really,away,get sorry,oh,hear
annoyed 3.4 get,work,really that's,oh,get
grateful 3.3 really,thankful,i'm that's,good,nice
lonely 3.3 alone,friends,i'm i'm,sorry,that's
afraid 3.2 scared,i'm,night oh,scary,that's
terrified 3.2 scared,night,i'm oh,that's,would
guilty 3.2 bad,feel,felt oh,that's,feel
impressed 3.2 really,good,got that's,good,like
disgusted 3.2 gross,really,saw oh,that's,would
hopeful 3.2 i'm,get,really hope,good,that's
confident 3.2 going,i'm,really good,that's,great
furious 3.1 mad,car,someone oh,that's,get
anxious 3.1 i'm,nervous,going oh,good,hope
anticipating 3.1 wait,i'm,going sounds,good,hope
joyful 3.1 happy,got,i'm that's,good,great
nostalgic 3.1 old,back,really good,like,time
disappointed 3.1 get,really,work oh,that's,sorry
prepared 3.0 ready,i'm,going good,that's,like
jealous 3.0 friend,got,get get,that's,oh
content 2.9 i'm,life,happy good,that's,great
devastated 2.9 got,really,sad sorry,oh,hear
embarrassed 2.9 day,work,got oh,that's,i'm
caring 2.7 care,really,taking that's,good,nice
sentimental 2.7 old,really,time that's,oh,like
trusting 2.6 friend,trust,know good,that's,like
ashamed 2.5 feel,bad,felt oh,that's,i'm
apprehensive 2.4 i'm,nervous,really oh,good,well
faithful 1.9 i'm,would,years good,that's,like
"""


def test_on_the_fixture_by_hand(fixtures: Path) -> None:
    found = describe("empathetic_dialogues", data=fixtures)
    train = found.splits[0]
    assert (train.dialogues, train.turns) == (2, 6)
    assert train.lengths == {4: 1, 2: 1}
    assert train.emotions == {"proud": 1, "afraid": 1}
    # 9 + 9 + 4 + 7 words of the first dialogue, 8 + 5 of the second
    assert train.words == 42
    assert train.situation_words == 7 + 6
    proud = next(entry for entry in found.words if entry.emotion == "proud")
    assert proud.share == 0.5
    assert ("floats", 1) in proud.speaker + proud.listener
    assert found.to_dict()["faults"] == {"count": 0, "first": []}


def test_figure_3(data: Path) -> None:
    found = describe("empathetic_dialogues", data=data)
    assert [s.dialogues for s in found.splits] == [19_533, 2_769, 2_546]
    assert found.splits[0].turns == 84_169
    ours = {entry.emotion: entry for entry in found.words}
    speaker = listener = 0
    for line in FIGURE_3.split("\n"):
        if not line:
            continue
        emotion, share, speakers, listeners = line.split()
        assert 100 * ours[emotion].share == pytest.approx(float(share), abs=0.1)
        speaker += len({word for word, _ in ours[emotion].speaker} & set(speakers.split(",")))
        listener += len({word for word, _ in ours[emotion].listener} & set(listeners.split(",")))
    assert len(ours) == 32
    assert speaker / 96 >= 0.85
    assert listener / 96 >= 0.85
    assert (speaker, listener) == (91, 88)


def test_leaks_between_splits_are_counted() -> None:
    openings = Openings()
    long = "my neighbour painted his whole house in a very bright green last summer without asking"
    openings.add("train", "The train was late again today.")
    openings.add("train", long)
    openings.add("train", "Hi there!")
    openings.add("test", "the train was LATE again, today")  # the same but for case and punctuation
    openings.add("test", long + " us")  # one word more
    openings.add("test", "Hi there!")  # too short to count
    openings.add("test", "my neighbour painted his boat in a very dark red last winter after asking")
    (overlap,) = openings.overlaps()
    assert (overlap.split, overlap.other, overlap.same, overlap.near) == ("test", "train", 1, 1)


def test_near_duplicates_of_the_real_corpus(data: Path) -> None:
    overlaps = describe("empathetic_dialogues", data=data).overlaps
    assert {(o.split, o.other): (o.same, o.near) for o in overlaps} == {
        ("valid", "train"): (1, 0),
        ("test", "train"): (2, 0),
        ("test", "valid"): (0, 0),
    }
