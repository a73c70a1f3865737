"""Replies from a pool: by themselves, and among a generator's candidates."""

import json
from pathlib import Path

import pytest
from click.testing import CliRunner

import heartfelt
from heartfelt.agent.agent import Agent, Settings
from heartfelt.agent.guard import Guard
from heartfelt.agent.listen import shipped
from heartfelt.agent.retriever import Retriever, retriever
from heartfelt.cli import app
from heartfelt.dialogue import Candidate
from heartfelt.retrieval.index import build
from heartfelt.retrieval.pool import Pool

REPLIES = (
    "Oh no, your poor dog! I hope he gets well soon.",
    "Congratulations on the new job, you must be so proud!",
    "Exams are hard, but I am sure that you passed.",
    "Happy birthday to your grandmother!",
)


@pytest.fixture(scope="module")
def index(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("pool") / "index"
    build(folder, Pool(REPLIES, ("made",), 4, 0, 0, 0), shipped())
    return folder


def test_an_index_answers_by_itself(index: Path) -> None:
    agent = heartfelt.load(index)
    reply = agent.reply("My dog is sick and I do not know what to do for him.")
    assert reply.text == REPLIES[0]
    assert reply.model == "heartfelt-matcher among 4 replies"
    assert {candidate.text for candidate in reply.candidates} == set(REPLIES)
    assert all("match" in candidate.scores for candidate in reply.candidates)
    heard: list[str] = []
    alone = Agent(retriever(index), settings=Settings(candidates=1))
    assert alone.reply("I am so proud of my new job!", heard=heard.append).text == REPLIES[1]
    assert heard == [REPLIES[1]]


class Writer:
    name, languages = "writer", ("en",)

    def say(self, *_: object) -> list[Candidate]:
        return [Candidate("Purple bananas sing.", {"likelihood": -9.0})]

    def stream(self, *_: object) -> str:
        raise AssertionError("with a pool there is something to choose, so nothing is streamed")


def test_retrieved_replies_join_what_is_written(index: Path) -> None:
    agent = Agent(Writer(), guard=Guard(ear=False), pool=retriever(index), settings=Settings(candidates=1))  # type: ignore[arg-type]
    heard: list[str] = []
    reply = agent.reply("My dog is sick and I do not know what to do for him.", heard=heard.append)
    assert reply.text == REPLIES[0] and heard == [REPLIES[0]]
    assert len(reply.candidates) == 5
    written = next(one for one in reply.candidates if "match" not in one.scores)
    found = next(one for one in reply.candidates if one.text == REPLIES[1])
    assert found.scores["likelihood"] == written.scores["likelihood"], (
        "neither gains by being written or found"
    )


def test_the_commands_build_show_search_and_answer(tmp_path: Path) -> None:
    file = tmp_path / "mine.txt"
    file.write_text("\n".join([*REPLIES, REPLIES[0].upper(), "I am a real human being."]))
    run, folder = CliRunner(), str(tmp_path / "index")
    built = run.invoke(app, ["index", "build", folder, "--from", str(file)], catch_exceptions=False)
    assert "4 replies in" in built.output
    assert "1 equal to another, 0 long, 1 that the guard keeps back" in built.output
    shown = run.invoke(app, ["index", "show", folder], catch_exceptions=False)
    assert "4 replies of mine.txt" in shown.output and "heartfelt-matcher" in shown.output
    found = run.invoke(
        app,
        ["index", "search", folder, "Oh no, my poor dog! I hope that he gets well.", "--top", "1"],
        catch_exceptions=False,
    )
    assert "your poor dog" in found.output
    told = run.invoke(
        app,
        ["reply", "Oh no, my poor dog! I hope that he gets well.", "--backend", folder, "--json"],
        catch_exceptions=False,
    )
    assert json.loads(told.output)["text"] == REPLIES[0]


HEADER = "conv_id,utterance_idx,context,prompt,speaker_idx,utterance,selfeval,tags\n"
TALK = """hit:0_conv:0,1,sad,My dog is sick.,1,Oh no_comma_ my poor dog is sick.,5|5|5_2|2|5,
hit:0_conv:0,2,sad,My dog is sick.,0,What is wrong with him?,5|5|5_2|2|5,
hit:0_conv:1,1,proud,I have a new job.,1,I am so proud of my new job!,5|5|5_2|2|5,
hit:0_conv:1,2,proud,I have a new job.,0,Well done!,5|5|5_2|2|5,
"""


def test_an_index_answers_a_corpus(index: Path, tmp_path: Path) -> None:
    folder = tmp_path / "empathetic_dialogues"
    folder.mkdir()
    (folder / "test.csv").write_text(HEADER + TALK)
    asked = ["generate", str(index), "--data", str(tmp_path), "--to", str(tmp_path / "found.jsonl")]
    said = CliRunner().invoke(app, asked, catch_exceptions=False)
    assert "2 replies in" in said.output
    header, *rows = map(json.loads, (tmp_path / "found.jsonl").read_text().splitlines())
    assert header["source"] == "heartfelt-matcher among 4 replies"
    assert [row["reply"] for row in rows] == [REPLIES[0], REPLIES[1]]
    assert [row["reference"] for row in rows] == ["What is wrong with him?", "Well done!"]
    refused = CliRunner().invoke(app, [*asked, "--decode", "beams=4"])
    assert "chooses among whole replies" in str(refused.exception)


def test_a_run_without_an_index_says_how_to_build_one(tmp_path: Path) -> None:
    pytest.importorskip("torch", reason="needs torch: pip install 'heartfelt[train]'")
    (tmp_path / "recipe.yaml").write_text("task: pairs\nmodel: encoder_matcher\n")
    with pytest.raises(heartfelt.HeartfeltError, match=r"heartfelt index build .* --encoder .* --from"):
        heartfelt.load(tmp_path)


def test_an_index_that_lost_its_run_says_so(index: Path, tmp_path: Path) -> None:
    pytest.importorskip("torch", reason="needs torch: pip install 'heartfelt[train]'")
    copied = tmp_path / "index"
    copied.mkdir()
    for path in index.iterdir():
        (copied / path.name).write_bytes(path.read_bytes())
    card = json.loads((copied / "index.json").read_text())
    (copied / "index.json").write_text(json.dumps(card | {"run": "../gone"}))
    with pytest.raises(heartfelt.HeartfeltError, match="made with the run gone, which is not at"):
        heartfelt.load(copied)


def test_a_retriever_is_a_generator(index: Path) -> None:
    found = retriever(index)
    assert isinstance(found, Retriever) and found.languages == ("en",)
