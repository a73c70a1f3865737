"""The routes that are not OpenAI's, the counts, and the OpenAPI document under random requests."""

from typing import Any

import httpx
import pytest
from fastapi.testclient import TestClient

from heartfelt.agent.agent import Agent
from heartfelt.agent.guard import Guard
from heartfelt.agent.listen import shipped
from heartfelt.dialogue import Concept
from heartfelt.errors import HeartfeltError
from heartfelt.labels import EMOTIONS, LABELS
from heartfelt.serving.app import make_app
from heartfelt.serving.settings import ServeSettings
from tests.serving.conftest import Speaks, serving


def app(generator: Any = None, know: Any = None, **settings: Any) -> Any:
    agent = Agent(generator or Speaks(), shipped(), Guard("GB", shipped().needs_help), know=know)
    return make_app(agent, ServeSettings(**settings))


def test_emotions_of_messages_and_of_a_talk(url: str) -> None:
    asked = {"input": ["My dog died last night.", "I finally got the job!", "What time is it?"]}
    found = httpx.post(f"{url}/v1/emotions", json=asked).json()["data"]
    assert [one["index"] for one in found] == [0, 1, 2]
    assert found[0]["emotion"] in ("sad", "devastated")
    assert set(found[1]["emotions"]) == set(EMOTIONS)
    assert sum(found[1]["emotions"].values()) == pytest.approx(1, abs=0.01)
    assert list(found[1]["emotions"].values()) == sorted(found[1]["emotions"].values(), reverse=True)
    assert found[2]["emotion"] is None  # small talk
    talk = {
        "messages": [{"role": "user", "content": "I am scared."}, {"role": "user", "content": "So scared."}]
    }
    assert len(httpx.post(f"{url}/v1/emotions", json=talk).json()["data"]) == 1
    for wrong in ({}, {"input": []}, {"input": " "}, {"input": "a", "messages": talk["messages"]}):
        assert httpx.post(f"{url}/v1/emotions", json=wrong).status_code == 400


def test_a_plan(url: str) -> None:
    found = httpx.post(f"{url}/v1/plan", json={"input": "My dog died.", "emotion": "sad"}).json()["data"][0]
    assert found["plan"] in LABELS
    assert sum(found["plans"].values()) == pytest.approx(1, abs=0.01)
    said = httpx.post(f"{url}/v1/plan", json={"input": "My dog died.", "emotion": "blue"})
    assert said.status_code == 400
    assert "There is no emotion 'blue'" in said.json()["error"]["message"]


def test_concepts_are_a_seam(url: str) -> None:
    said = httpx.post(f"{url}/v1/concepts", json={"input": "My dog died."})
    assert said.status_code == 404
    assert said.json()["error"]["code"] == "no_knowledge"
    with TestClient(app(know=lambda _: (Concept("dog", "IsA", "pet", 0.9),))) as client:
        found = client.post("/v1/concepts", json={"input": "My dog died."}).json()["data"]
    assert found == [
        {"index": 0, "concepts": [{"keyword": "dog", "relation": "IsA", "concept": "pet", "score": 0.9}]}
    ]


def test_health_and_counts_hold_no_text(warm: None) -> None:
    with TestClient(app()) as client:
        assert client.get("/health").json()["status"] == "ok"
        assert client.get("/ready").status_code == 200
        client.post(
            "/v1/chat/completions", json={"messages": [{"role": "user", "content": "My dog Xerxes died."}]}
        )
        client.post(
            "/v1/chat/completions", json={"messages": [{"role": "user", "content": "I will kill myself."}]}
        )
        client.get("/v1/models/Xerxes")
        client.get("/Xerxes")
        text = client.get("/metrics").text
    assert 'heartfelt_safety_total{action="refer"} 1.0' in text
    assert 'heartfelt_safety_total{action="pass"} 1.0' in text
    assert 'heartfelt_requests_total{route="/v1/chat/completions",status="200"} 2.0' in text
    assert "heartfelt_waiting 0.0" in text
    assert "Xerxes" not in text


def test_keys(warm: None) -> None:
    with TestClient(app(keys=("one", "two"))) as client:
        asked = {"input": "My dog died."}
        for headers in ({}, {"Authorization": "Bearer three"}, {"Authorization": "Bearer "}):
            said = client.post("/v1/emotions", json=asked, headers=headers)
            assert said.status_code == 401
            assert said.headers["WWW-Authenticate"] == "Bearer"
            assert said.json()["error"]["code"] == "invalid_api_key"
        for key in ("one", "two"):
            right = {"Authorization": f"Bearer {key}"}
            assert client.post("/v1/emotions", json=asked, headers=right).status_code == 200
        assert client.get("/metrics").status_code == 401
        assert client.get("/openapi.json").status_code == 401
        assert client.get("/health").status_code == 200
        assert client.get("/static/%2e%2e/%2e%2e/metrics").status_code in (401, 404)


def test_other_pages_may_not_ask_unless_named(warm: None) -> None:
    origin = {"Origin": "https://example.org", "Access-Control-Request-Method": "POST"}
    with TestClient(app()) as client:
        assert "access-control-allow-origin" not in client.get("/health", headers=origin).headers
    with TestClient(app(origins=("https://example.org",))) as client:
        said = client.options("/v1/emotions", headers=origin)
        assert said.headers["access-control-allow-origin"] == "https://example.org"


def test_what_we_did_not_foresee_tells_nothing_of_our_insides(warm: None) -> None:
    speaks = Speaks()
    with TestClient(app(speaks), raise_server_exceptions=False) as client:
        asked = {"messages": [{"role": "user", "content": "My dog died."}]}
        speaks.fail = RuntimeError("/secret/path")
        said = client.post("/v1/chat/completions", json=asked)
        assert said.status_code == 500
        assert "secret" not in said.text
        speaks.fail = HeartfeltError("the model is not there")
        streamed = client.post("/v1/chat/completions", json=asked | {"stream": True})
        assert "the model is not there" in streamed.text
        assert "[DONE]" not in streamed.text
        speaks.fail = None
        assert client.post("/v1/chat/completions", json=asked).status_code == 200


@pytest.mark.filterwarnings("ignore")  # of schemathesis' own
def test_random_requests_are_never_a_server_error(warm: None) -> None:
    import schemathesis

    with serving(Speaks("Oh."), waiting=4) as address:
        schema = schemathesis.openapi.from_url(f"{address}/openapi.json")
        tried: set[str] = set()
        for operation in schema.get_all_operations():
            _try(operation.ok().as_strategy(), tried)
        assert {"/v1/chat/completions", "/v1/emotions", "/v1/plan", "/v1/embeddings", "/v1/sessions"} <= tried


def _try(strategy: Any, tried: set[str]) -> None:
    from hypothesis import HealthCheck, Phase, given, settings
    from schemathesis.checks import not_a_server_error

    @given(case=strategy)
    @settings(
        max_examples=25, deadline=None, phases=(Phase.generate,), derandomize=True, database=None,
        suppress_health_check=list(HealthCheck),
    )  # fmt: skip
    def ask(case: Any) -> None:
        tried.add(case.operation.path)
        case.call_and_validate(checks=[not_a_server_error])

    ask()
