"""An agent answers a corpus, and is probed."""

from pathlib import Path

import pytest

from heartfelt.agent.agent import Agent
from heartfelt.agent.guard import Guard
from heartfelt.agent.listen import Listener
from heartfelt.agent.probe_commands import _prompts
from heartfelt.agent.probes import small_talk, steering
from heartfelt.agent.replies import answer
from heartfelt.dialogue import Dialogue, Turn
from heartfelt.errors import BadData
from heartfelt.evaluation import evaluate
from heartfelt.evaluation.outputs import Header, read
from tests.agent.test_agent import HAPPY, PLAIN, SAD, Says

pytestmark = pytest.mark.filterwarnings("ignore")  # torch's exporter warns of itself
HEADER = Header("ours", "tiny", "test")
TALKS = [
    Dialogue(
        f"d{i}",
        (
            Turn("speaker", text),
            Turn("listener", "oh \u2028 .", "wishing"),
            Turn("speaker", PLAIN),
            Turn("listener", "well ."),
        ),
        emotion="sad",
        situation="never to be seen",
    )
    for i, text in enumerate((SAD, HAPPY, "I want to kill myself"))
]


@pytest.fixture
def agent(tiny_encoder: Path) -> Agent:
    return Agent(Says("oh no .", "so ?"), Listener(tiny_encoder), Guard("GB", ear=False))


def test_every_listener_turn_is_answered(agent: Agent, tmp_path: Path) -> None:
    outputs = answer(agent, TALKS, HEADER, tmp_path / "to" / "ours.jsonl", workers=2)
    assert read(tmp_path / "to" / "ours.jsonl") == outputs
    assert [(row.dialogue, row.turn) for row in outputs.rows] == [
        (f"d{i}", t) for i in range(3) for t in (1, 3)
    ]
    assert outputs.rows[1].context == (SAD, "oh \u2028 .", PLAIN)
    assert "116 123" in (outputs.rows[4].reply or "")
    assert evaluate(outputs, ("accuracy_1", "distinct_1"), 10).scores
    assert [path.name for path in (tmp_path / "to").iterdir()] == ["ours.jsonl"]
    for asked, wish in agent.generator.asked:  # type: ignore[attr-defined]
        assert asked.situation is None
        assert asked.emotion == wish.emotion
        assert all(turn.label is None for turn in asked.turns)


def test_what_was_answered_is_not_answered_again(agent: Agent, tmp_path: Path) -> None:
    to = tmp_path / "ours.jsonl"
    whole = answer(agent, TALKS, HEADER, to)
    lines = to.read_text().split("\n")
    part = tmp_path / ".ours.jsonl.part"
    header = HEADER.to_json()
    part.write_text("\n".join([header, *lines[1:4], lines[4][:20]]))
    generator = Says("oh no .", "so ?")
    again = Agent(generator, agent.listener, agent.guard)
    assert answer(again, TALKS, HEADER, to) == whole
    assert len(generator.asked) == 1  # of three that were left, the guard took two
    part.write_text("\n".join([Header("theirs").to_json(), *lines[1:3], ""]))
    with pytest.raises(BadData, match="another system"):
        answer(again, TALKS, HEADER, to)


def test_steering_counts_what_the_labeller_reads(agent: Agent) -> None:
    found = {one.intent: one for one in steering(agent, TALKS[:2])}
    assert len(found) == 8
    assert all(0 <= one.asked <= 1 and one.contexts == 2 for one in found.values())


def test_small_talk_is_read_from_a_file_and_probed(agent: Agent, tmp_path: Path) -> None:
    prompts = _prompts(Path(__file__).parent / "sixty_plain.csv")
    assert len(prompts) == 60
    assert sum(len(prompt.turns) == 3 for prompt in prompts) == 30
    assert all(prompt.turns[-1].speaker == "speaker" for prompt in prompts)
    (one,) = small_talk(agent, prompts[:1])
    assert one.reply in ("oh no .", "so ?")
    (tmp_path / "bad.csv").write_text("message\n\n , \n")
    with pytest.raises(BadData, match="never empty"):
        _prompts(tmp_path / "bad.csv")
