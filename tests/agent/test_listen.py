"""What is heard of messages and dialogues; the command that shows it."""

import json
import shutil
from pathlib import Path

import numpy as np
import pytest
from click.testing import CliRunner, Result

from heartfelt import Dialogue, Turn
from heartfelt.agent.commands import emotions
from heartfelt.agent.listen import Listener, as_dialogue
from heartfelt.errors import HeartfeltError, InvalidValue
from heartfelt.labels import GROUPS

pytestmark = pytest.mark.filterwarnings("ignore")  # torch's exporter warns of itself
SAD, HAPPY, PLAIN = "i am so sad . my dog died", "i am so happy . i won the game", "what did you say ?"


def run(*arguments: str, stdin: str | None = None) -> Result:
    return CliRunner().invoke(emotions, arguments, input=stdin, catch_exceptions=False)


def top(chances: dict[str, float]) -> str:
    return max(chances, key=lambda label: chances[label])


def test_a_message_is_heard(tiny_encoder: Path) -> None:
    sad, happy, plain = Listener(tiny_encoder)([as_dialogue(text) for text in (SAD, HAPPY, PLAIN)])
    assert (top(sad.emotion), top(sad.plan), top(sad.group)) == ("sad", "sympathizing", "sadness")
    assert (top(happy.emotion), top(happy.plan), top(happy.group)) == ("joyful", "questioning", "joy")
    assert sad.neutral < 0.5 < plain.neutral
    for chances in (sad.emotion, sad.group, sad.label, sad.plan):
        assert sum(chances.values()) == pytest.approx(1, abs=1e-5)
    assert set(sad.group) == set(GROUPS)


def test_a_label_is_of_the_last_turn_and_the_rest_is_of_the_context(tiny_encoder: Path) -> None:
    listener = Listener(tiny_encoder)
    dialogue = Dialogue("d", (Turn("speaker", SAD), Turn("listener", PLAIN)))
    (heard,) = listener([dialogue])
    (alone,) = listener([as_dialogue(PLAIN)])
    assert heard.label == pytest.approx(alone.label, abs=1e-4)
    assert heard.emotion != pytest.approx(alone.emotion, abs=1e-4)
    # Of a long talk, only its last turns are heard.
    long = Dialogue("d", (*(Turn("speaker", HAPPY) for _ in range(5)), *dialogue.turns * 4))
    short = Dialogue("d", long.turns[-8:])
    assert listener([long])[0].emotion == pytest.approx(listener([short])[0].emotion, abs=1e-4)


def test_small_talk_after_a_sad_story_is_small_talk(
    tiny_encoder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    listener = Listener(tiny_encoder)
    dialogue = Dialogue("d", (Turn("speaker", SAD), Turn("listener", HAPPY), Turn("speaker", PLAIN)))
    (alone,) = listener([as_dialogue(PLAIN)])
    monkeypatch.setattr("heartfelt.agent.listen.NEW_SUBJECT", alone.neutral - 0.01)
    assert listener([dialogue])[0].neutral == pytest.approx(alone.neutral, abs=1e-4)
    monkeypatch.setattr("heartfelt.agent.listen.NEW_SUBJECT", alone.neutral + 0.01)  # not sure enough
    assert listener([dialogue])[0].neutral != pytest.approx(alone.neutral, abs=1e-4)


def test_who_needs_help_is_heard_above_the_threshold(tiny_encoder: Path, tmp_path: Path) -> None:
    listener = Listener(tiny_encoder, ear=None)
    assert listener.needs_help("so new so")
    assert not any(map(listener.needs_help, (SAD, HAPPY, PLAIN, "", "  ", "أنا بخير")))
    assert listener.needs_help(
        "so new so " * 40 + "what did you say ? " * 500
    )  # at the start of a long message
    assert not listener.needs_help("what did you say ? " * 500)
    shutil.copytree(tiny_encoder, tmp_path / "without")
    card = json.loads((tmp_path / "without" / "encoder.json").read_text())
    del card["thresholds"]
    (tmp_path / "without" / "encoder.json").write_text(json.dumps(card))
    assert not Listener(tmp_path / "without", ear=None).needs_help("so new so")


def test_another_encoder_leaves_the_ear_where_it_is(tiny_encoder: Path) -> None:
    assert Listener(tiny_encoder).needs_help("I want to kill myself tonight.")


def test_what_was_not_read_whole_is_not_sure(tiny_encoder: Path) -> None:
    listener = Listener(tiny_encoder)
    assert listener.needs_help("It rained all day.") is False
    assert listener.needs_help("It rained all day. " * 2000) is None


def test_vectors_have_length_one(tiny_encoder: Path) -> None:
    found = Listener(tiny_encoder).vectors([[SAD], [HAPPY], [SAD]])
    assert np.allclose((found**2).sum(-1), 1, atol=1e-5)
    assert found[0] @ found[2] > found[0] @ found[1]


def test_an_empty_message_is_refused() -> None:
    with pytest.raises(InvalidValue, match="nothing to listen to"):
        as_dialogue("  ")


def test_the_command_shows_bars_plan_and_verdict(tiny_encoder: Path) -> None:
    shown = run(SAD, "--encoder", str(tiny_encoder)).stdout
    assert "sad " in shown
    assert "█" in shown
    assert "wants a listener" in shown
    assert "a reply could be sympathizing" in shown
    assert "small talk" in run(PLAIN, "--encoder", str(tiny_encoder)).stdout


def test_the_command_reads_files_and_standard_input(tiny_encoder: Path, tmp_path: Path) -> None:
    lines = tmp_path / "messages.txt"
    lines.write_text(f"{SAD}\n\n{PLAIN}\n")
    dialogue = Dialogue("d1", (Turn("speaker", SAD), Turn("listener", PLAIN), Turn("speaker", SAD)))
    (tmp_path / "talk.jsonl").write_text(dialogue.to_json() + "\n")
    encoder = ("--json", "--encoder", str(tiny_encoder))
    by_file = [json.loads(line) for line in run(str(lines), *encoder).stdout.splitlines()]
    assert [(one["id"], top(one["label"])) for one in by_file] == [
        ("line-1", "sad"),
        ("line-3", "questioning"),
    ]
    fields = {"id", "text", "emotion", "group", "label", "plan", "neutral", "language"}
    assert set(by_file[0]) == set(json.loads(run("صباح الخير", *encoder).stdout)) == fields
    by_stdin = run("-", *encoder, stdin=lines.read_text()).stdout
    assert [json.loads(line) for line in by_stdin.splitlines()] == by_file
    (talk,) = run(str(tmp_path / "talk.jsonl"), *encoder).stdout.splitlines()
    assert json.loads(talk)["text"] == SAD


def test_a_policy_steers_what_the_command_shows(tiny_encoder: Path, tmp_path: Path) -> None:
    (tmp_path / "policy.yaml").write_text("rules: [{when: {to_reply: 1}, forbid: [sympathizing]}]")
    options = ("--json", "--encoder", str(tiny_encoder), "--policy", str(tmp_path / "policy.yaml"))
    assert json.loads(run(SAD, *options).stdout)["plan"]["sympathizing"] == 0


def test_an_encoder_for_something_else_is_refused_in_a_line(tiny_encoder: Path, tmp_path: Path) -> None:
    shutil.copytree(tiny_encoder, tmp_path / "other")
    card = json.loads((tmp_path / "other" / "encoder.json").read_text())
    del card["heads"]["neutral"]
    (tmp_path / "other" / "encoder.json").write_text(json.dumps(card))
    with pytest.raises(InvalidValue, match="does not know neutral: to listen takes an exported run"):
        run(SAD, "--encoder", str(tmp_path / "other"))


def test_bytes_that_are_no_text_do_not_stop_it(tiny_encoder: Path, tmp_path: Path) -> None:
    encoder = ("--json", "--encoder", str(tiny_encoder))
    broken = tmp_path / "latin.txt"
    broken.write_bytes(b"caf\xe9\nso sad\n")
    read = run(str(broken), *encoder)
    assert [json.loads(line)["id"] for line in read.stdout.splitlines()] == ["line-2"]
    assert "Passed over 1 lines, the first is" in read.stderr
    assert "latin.txt:1: not UTF-8" in read.stderr
    typed = CliRunner().invoke(
        emotions, ["-", *encoder], input=b"\xef\xbb\xbfcaf\xe9\n", catch_exceptions=False
    )
    assert json.loads(typed.stdout)["text"] == "caf\ufffd"
    assert json.loads(run("caf\udce9", *encoder).stdout)["text"] == "caf?"


@pytest.mark.parametrize("text", ["", "   ", "\n"])
def test_nothing_to_listen_to_is_one_line(text: str, tiny_encoder: Path) -> None:
    with pytest.raises(HeartfeltError, match="nothing to listen to"):
        run(text, "--encoder", str(tiny_encoder))
    with pytest.raises(HeartfeltError, match="nothing to listen to"):
        run("-", "--encoder", str(tiny_encoder), stdin=text)


def test_strange_messages_are_heard_all_the_same(tiny_encoder: Path) -> None:
    for text in ("x" * 100_000, "\x1b[31mred\x07", "🙂🙃", "a\0b", "…" * 300):
        assert run(text, "--encoder", str(tiny_encoder)).exit_code == 0
