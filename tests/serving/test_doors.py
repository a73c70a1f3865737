"""Doors for other tools: the `llm` command's plug-in, and get_response."""

from importlib.metadata import entry_points
from typing import Any

import llm
import pytest

from heartfelt.agent.agent import Agent
from heartfelt.agent.guard import Guard
from heartfelt.agent.listen import shipped
from heartfelt.serving import llm_plugin, respond
from heartfelt.serving.respond import SILENCE, Responder
from tests.conftest import skip
from tests.serving.conftest import STEERED, TEXT, Speaks


@pytest.fixture
def speaks(monkeypatch: pytest.MonkeyPatch) -> Speaks:
    made = Speaks()
    agent = Agent(made, shipped(), Guard("GB", shipped().needs_help))
    monkeypatch.setattr(llm_plugin, "agent", lambda: agent)
    monkeypatch.setattr(respond, "_shipped", lambda: Responder(agent))
    return made


def test_llm_knows_the_plug_in_by_its_entry_point() -> None:
    named = [one.value for one in entry_points(group="llm") if one.name == "heartfelt"]
    if not named:
        skip("installed before the entry point was there: pip install -e .")
    assert named == ["heartfelt.serving.llm_plugin"]


def test_llm_answers_streams_and_goes_on(speaks: Speaks) -> None:
    registered: list[Any] = []
    llm_plugin.register_models(registered.append)
    (model,) = registered
    assert isinstance(model, llm.Model)
    talk = model.conversation()
    first = talk.prompt("My dog died last night.", intent="consoling")
    pieces = list(first)
    assert len(pieces) == 2
    assert "".join(pieces).strip() == STEERED["consoling"]
    assert first.response_json["safety"] == {} or first.response_json["safety"]["action"] == "pass"
    assert talk.prompt("I miss him.", intent="agreeing", stream=False).text().startswith(TEXT)
    assert [turn.text for turn in speaks.asked[-1][0].turns] == [
        "My dog died last night.", first.text(), "I miss him.",
    ]  # fmt: skip
    with pytest.raises(ValueError, match="there is no 'question'"):
        model.prompt("Hello", intent="question")
    with pytest.raises(llm.ModelError, match="empty"):
        model.prompt(" ").text()
    speaks.fail = RuntimeError("gone")
    with pytest.raises(llm.ModelError, match="gone"):
        model.prompt("My dog died.").text()


def test_get_response_takes_any_text(speaks: Speaks) -> None:
    assert respond.get_response("My dog died last night.")
    assert "116 123" in respond.get_response("I want to kill myself tonight.")
    assert respond.get_response("") == SILENCE
    assert respond.get_response("\ud83d my dog died")
