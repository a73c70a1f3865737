"""Stored conversations, on SQLite and on a real PostgreSQL that the tests start, kill and start again."""

from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

import httpx
import pytest
from sqlalchemy import inspect, text, update

from heartfelt.errors import BadData, HeartfeltError, InvalidValue
from heartfelt.serving import migrations
from heartfelt.serving.migrations import META, SESSIONS, STEPS, migrate
from heartfelt.serving.sessions import open_sessions
from tests.postgres import Postgres, emptied, postgres  # noqa: F401
from tests.serving.conftest import Speaks, serving


@pytest.fixture(params=["sqlite", "postgres"])
def url(request: pytest.FixtureRequest, tmp_path: Path) -> str:
    if request.param == "sqlite":
        return str(tmp_path / "talks" / "talks.db")
    return emptied(request.getfixturevalue("postgres"))


def ask(address: str, session: str, message: str, **others: Any) -> httpx.Response:
    asked = {"messages": [{"role": "user", "content": message}], "heartfelt": {"session": session}, **others}
    return httpx.post(f"{address}/v1/chat/completions", json=asked, timeout=30)


def test_a_talk_goes_on_is_read_and_deleted(url: str, warm: None) -> None:
    speaks = Speaks("Oh no.")
    with serving(speaks, candidates=1, sessions=url) as address:
        session = httpx.post(f"{address}/v1/sessions").json()["id"]
        assert ask(address, session, "My name is Ann Lee, write to ann@example.org.").status_code == 200
        assert "[DONE]" in ask(address, session, "My dog died.", stream=True).text
        said = httpx.get(f"{address}/v1/sessions/{session}").json()["messages"]
        assert [one["role"] for one in said] == ["user", "assistant", "user", "assistant"]
        assert said[0]["content"] == "My name is [name], write to [e-mail]."
        assert said[2]["content"] == "My dog died."
        assert len(speaks.asked[-1][0].turns) == 3  # the model saw what was said before
        assert httpx.get(f"{address}/ready").status_code == 200
    with serving(speaks, candidates=1, sessions=url) as address:  # another process, the same database
        assert len(httpx.get(f"{address}/v1/sessions/{session}").json()["messages"]) == 4
        assert httpx.delete(f"{address}/v1/sessions/{session}").status_code == 204
        for gone in (httpx.get(f"{address}/v1/sessions/{session}"), ask(address, session, "Hello?")):
            assert gone.status_code == 404
            assert gone.json()["error"]["code"] == "session_not_found"
    engine = open_sessions(url)._engine
    with engine.connect() as connection:
        assert connection.scalar(text("SELECT count(*) FROM heartfelt_turns")) == 0
    engine.dispose()


def test_what_is_old_is_forgotten(url: str) -> None:
    sessions = open_sessions(url, keep_days=2)
    old, young = sessions.new(), sessions.new()
    with sessions._engine.begin() as connection:
        long_ago = datetime.now(UTC) - timedelta(days=3)
        connection.execute(update(SESSIONS).where(SESSIONS.c.id == old).values(touched=long_ago))
    sessions.new()
    assert sessions.turns(young) == []
    with pytest.raises(HeartfeltError, match="no such session"):
        sessions.turns(old)
    sessions.close()


def test_migrations_end_where_the_tables_say(url: str) -> None:
    sessions = open_sessions(url)
    engine = sessions._engine
    assert migrate(engine) == 0
    found = inspect(engine)
    for table in META.tables.values():
        assert {column["name"] for column in found.get_columns(table.name)} == set(table.columns.keys())
    with engine.begin() as connection:
        connection.execute(text(f"INSERT INTO heartfelt_schema VALUES ({len(STEPS) + 1})"))
    with pytest.raises(BadData, match="newer Heartfelt"):
        migrate(engine)
    sessions.close()


def test_an_older_database_is_brought_up_to_date_with_what_it_holds(
    url: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    with monkeypatch.context() as patch:
        patch.setattr(migrations, "STEPS", STEPS[:1])
        engine = open_sessions_without_forgetting(url)
    with engine.begin() as connection:
        now = {"now": datetime.now(UTC)}
        connection.execute(text("INSERT INTO heartfelt_sessions VALUES ('s', :now, :now)"), now)
        connection.execute(text("INSERT INTO heartfelt_turns VALUES ('s', 0, 'speaker', 'hello')"))
    engine.dispose()
    sessions = open_sessions(url)
    assert [(turn.text, turn.label) for turn in sessions.turns("s")] == [("hello", None)]
    sessions.close()


def open_sessions_without_forgetting(url: str) -> Any:
    from heartfelt.serving.sessions import open_engine

    engine = open_engine(url)
    migrate(engine)
    return engine


def test_two_answers_in_one_place_are_not_both_stored(url: str, warm: None) -> None:
    with serving(Speaks("Oh."), candidates=1, sessions=url) as address:
        session = httpx.post(f"{address}/v1/sessions").json()["id"]
        sessions = open_sessions(url)
        from heartfelt.dialogue import Reply, Turn

        sessions.add(session, 0, Turn("speaker", "first"), Reply("one"))
        with pytest.raises(HeartfeltError, match="answered meanwhile") as refused:
            sessions.add(session, 0, Turn("speaker", "second"), Reply("two"))
        assert refused.value.status == 409  # type: ignore[attr-defined]
        assert [turn.text for turn in sessions.turns(session)] == ["first", "one"]
        sessions.close()


def test_a_database_that_goes_and_comes_back(postgres: Postgres, warm: None) -> None:  # noqa: F811
    with serving(Speaks("Oh no."), candidates=1, sessions=postgres.url) as address:
        session = httpx.post(f"{address}/v1/sessions").json()["id"]
        assert ask(address, session, "My dog died.").status_code == 200
        postgres.kill()
        try:
            for stream in (False, True):
                said = ask(address, session, "Are you there?", stream=stream)
                assert "database does not answer" in said.text
                assert said.status_code == (
                    200 if stream else 503
                )  # a stream has begun; it ends without [DONE]
                assert "[DONE]" not in said.text
            assert httpx.get(f"{address}/ready").status_code == 503
            assert httpx.get(f"{address}/health").status_code == 200
            stateless = {"messages": [{"role": "user", "content": "My dog died."}]}
            assert httpx.post(f"{address}/v1/chat/completions", json=stateless).status_code == 200
        finally:
            postgres.start()
        assert ask(address, session, "I am back.").status_code == 200
        said = httpx.get(f"{address}/v1/sessions/{session}").json()["messages"]
        assert [one["content"] for one in said] == ["My dog died.", "Oh no.", "I am back.", "Oh no."]


def test_without_a_database_nothing_is_stored(warm: None) -> None:
    with serving(Speaks("Oh.")) as address:
        for said in (httpx.post(f"{address}/v1/sessions"), ask(address, "x", "Hello")):
            assert said.status_code == 404
            assert "--sessions" in said.json()["error"]["message"]


def test_what_is_no_database_is_said(tmp_path: Path) -> None:
    for bad in ("nosql://x", "mysql://"):
        with pytest.raises(InvalidValue, match=r"sqlite:///FILE or postgresql"):
            open_sessions(bad)
    (tmp_path / "text.db").write_text("this is no database, it is a text file " * 40)
    with pytest.raises(HeartfeltError, match="cannot be used"):
        open_sessions(str(tmp_path / "text.db"))
    with pytest.raises(HeartfeltError, match="cannot be used") as said:
        open_sessions("postgresql://me:secret@127.0.0.1:9/x")
    assert "secret" not in str(said.value)


def test_the_file_is_its_owners_alone(tmp_path: Path) -> None:
    open_sessions(str(tmp_path / "talks.db")).close()
    assert (tmp_path / "talks.db").stat().st_mode & 0o077 == 0
