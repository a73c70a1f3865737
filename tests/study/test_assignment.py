"""Who gets what, what is saved, what is refused: on SQLite through the store, and through HTTP."""

import json
import sqlite3
from collections import Counter
from pathlib import Path
from typing import Any

import httpx
import pytest

from heartfelt.errors import BadData, InvalidValue
from heartfelt.serving.problems import Refused
from heartfelt.study import assignment, flow
from heartfelt.study.records import works
from heartfelt.study.store import Store, begin
from tests.study.conftest import HOSTILE, KEY, SURVEY, SYSTEMS, VALUES, Rater, serving, store_in, study_in

ATTENTION = """
attention:
  - {context: ["Are you there?"], replies: ["Put me into bad.", "Me too."], expect: [bad, null]}
"""


class Clock:
    def __init__(self) -> None:
        self.now = 1_000_000.0

    def __call__(self) -> float:
        return self.now


def small(
    tmp_path: Path,
    kind: str = "sort",
    more: str = "batches: {size: 2, raters: 2, minutes: 10}",
    items: int = 4,
) -> tuple[Store, Clock]:
    clock = Clock()
    return store_in(tmp_path, study_in(tmp_path, kind, items, more), clock=clock), clock


def joined(store: Store) -> str:
    token = store.join()
    flow.consent(store, token)
    store.mark(token, "began")
    return token


def do(store: Store, token: str, work: str) -> str:
    state = flow.state(store, token)
    for place, page in enumerate(state["pages"]):
        assignment.answer(store, token, work, place, 1, VALUES[store.study.kind](page), 1.0)
    return assignment.finish(store, token, work)


def test_every_item_gets_its_quota_and_nobody_twice(tmp_path: Path) -> None:
    store, _ = small(tmp_path)
    tokens = [joined(store) for _ in range(3)]
    done = 0
    for _ in range(4):
        for token in tokens:
            if work := assignment.claim(store, token):
                assert do(store, token, work).startswith("HF-")
                done += 1
    assert done == 4  # two batches, two raters each
    seen = Counter(answer.item.name for work in works(store) for answer in work.answers)
    assert set(seen.values()) == {2}
    pairs = [(work.rater, answer.item.name) for work in works(store) for answer in work.answers]
    assert len(pairs) == len(set(pairs))
    late = joined(store)
    assert flow.begin(store, late)["stage"] == "full"


def test_an_unfinished_batch_returns_to_the_pool(tmp_path: Path) -> None:
    store, clock = small(tmp_path, more="batches: {size: 4, raters: 1, minutes: 10}")
    first, second = joined(store), joined(store)
    work = assignment.claim(store, first)
    assert work
    page = flow.state(store, first)["pages"][0]
    value = VALUES["sort"](page)
    assignment.answer(store, first, work, 0, 1, value, 1.0)
    assert assignment.claim(store, second) is None
    clock.now += 601
    taken = assignment.claim(store, second)  # the first was too slow
    assert taken
    with pytest.raises(Refused, match="somebody else has it"):
        assignment.answer(store, first, work, 1, 1, value, 1.0)
    state = flow.state(store, first)
    assert (state["stage"], state["lost"]) == ("full", True)
    do(store, second, taken)
    with pytest.raises(Refused, match="somebody else has it"):
        assignment.finish(store, first, work)
    assert [w.finished is not None for w in works(store)] == [False, True]


def test_who_is_late_goes_on_if_nobody_took_it(tmp_path: Path) -> None:
    store, clock = small(tmp_path, more="batches: {size: 4, raters: 1, minutes: 10}")
    token = joined(store)
    work = assignment.claim(store, token)
    assert work
    clock.now += 10_000
    do(store, token, work)
    assert flow.state(store, token)["stage"] == "done"


def test_posts_are_idempotent_and_older_ones_refused(tmp_path: Path) -> None:
    store, _ = small(tmp_path)
    token = joined(store)
    work = assignment.claim(store, token)
    assert work
    good, other = ["good", "good", "bad"], ["bad", "okay", "bad"]
    for _ in range(3):
        assert assignment.answer(store, token, work, 0, 1, good, 1.0) == {"saved": True, "revision": 1}
    assignment.answer(store, token, work, 0, 2, other, 1.0)
    with pytest.raises(Refused, match="newer answer"):
        assignment.answer(store, token, work, 0, 1, good, 1.0)  # a replayed post
    with pytest.raises(Refused, match="newer answer"):
        assignment.answer(store, token, work, 0, 2, good, 1.0)
    state = flow.state(store, token)
    assert state["answers"] == [{"value": other, "revision": 2}, None]
    with pytest.raises(Refused, match="Page 2 has no answer"):
        assignment.finish(store, token, work)
    assignment.answer(store, token, work, 1, 1, good, 1.0)
    code = assignment.finish(store, token, work)
    assert assignment.finish(store, token, work) == code
    assert assignment.answer(store, token, work, 1, 1, good, 1.0)["saved"]  # the same again: it is there
    with pytest.raises(Refused, match="finished"):
        assignment.answer(store, token, work, 1, 2, other, 1.0)
    assert len(works(store)[0].answers) == 2
    assert flow.state(store, token)["codes"] == [code]


@pytest.mark.parametrize(
    "value",
    [
        None,
        "good",
        [],
        ["good"],
        ["good"] * 4,
        ["good", "good", "best"],
        ["good", "good", None],
        ["good", "good", ["bad"]],
        {"a": 1},
    ],
)
def test_answers_that_are_none(tmp_path: Path, value: Any) -> None:
    store, _ = small(tmp_path)
    token = joined(store)
    work = assignment.claim(store, token)
    assert work
    with pytest.raises(InvalidValue):
        assignment.answer(store, token, work, 0, 1, value, 1.0)
    assert not works(store)[0].answers


def test_orders_differ_between_raters_and_are_logged(tmp_path: Path) -> None:
    store, _ = small(tmp_path, more="batches: {size: 4, raters: 30}")
    orders = Counter()
    for _ in range(12):
        token = joined(store)
        work = assignment.claim(store, token)
        assert work
        state = flow.state(store, token)
        for place, page in enumerate(state["pages"]):
            assignment.answer(store, token, work, place, 1, ["good", "okay", "bad"], 1.0)
            assert set(page) == {"context", "replies", "bonus"}
    for work in works(store):
        for answer in work.answers:
            orders[answer.order] += 1
            assert (
                answer.value["areas"][answer.order[0]] == "good"
            )  # what was shown first is what was called good
    assert len(orders) == 6


def test_bonus_and_attention(tmp_path: Path) -> None:
    store, _ = small(tmp_path, more="bonus: 2\nbatches: {size: 4, raters: 2}\n" + ATTENTION)
    token = joined(store)
    work = assignment.claim(store, token)
    assert work
    pages = flow.state(store, token)["pages"]
    assert len(pages) == 5
    assert sum(page["bonus"] for page in pages) == 2
    assert sum(len(page["replies"]) == 2 for page in pages) == 1
    earned = []
    for place, page in enumerate(pages):
        value = ["bad"] * len(page["replies"])
        if page["bonus"]:
            gold = next(i for i, text in enumerate(page["replies"]) if "the person said" in text)
            value[gold] = "okay" if not earned else "bad"
            earned.append(assignment.answer(store, token, work, place, 1, value, 1.0)["bonus"])
            value[gold] = "good"  # a second thought earns nothing more
            assert assignment.answer(store, token, work, place, 2, value, 1.0)["bonus"] is earned[-1]
        else:
            assert "bonus" not in assignment.answer(store, token, work, place, 1, value, 1.0)
    assert earned == [True, False]
    assignment.finish(store, token, work)
    found = works(store)[0]
    assert (found.asked, found.passed) == (3, 2)


def test_a_study_that_has_begun_stays_what_it_is(tmp_path: Path) -> None:
    store, _ = small(tmp_path)
    store_in(
        tmp_path, study_in(tmp_path, "sort", 5, "batches: {size: 2, raters: 2}")
    )  # nobody has begun: fine
    store = store_in(tmp_path, study_in(tmp_path, "sort", 4))
    assignment.claim(store, joined(store))
    store_in(tmp_path, study_in(tmp_path, "sort", 4, "title: another title"))
    with pytest.raises(BadData, match="has begun with other items"):
        store_in(tmp_path, study_in(tmp_path, "sort", 5))


def test_two_studies_in_one_database(tmp_path: Path) -> None:
    url = str(tmp_path / "both.db")
    one = begin(study_in(tmp_path / "a", "sort"), tmp_path / "a", url)
    two = begin(study_in(tmp_path / "b", "choose"), tmp_path / "b", url)
    token = joined(one)
    assert assignment.claim(one, token)
    assert works(two) == []
    with pytest.raises(Refused, match="not known"):
        flow.state(two, token)


def test_a_backup_while_it_runs(tmp_path: Path) -> None:
    store, _ = small(tmp_path)
    token = joined(store)
    assignment.claim(store, token)
    with store.writing():  # somebody writes just now
        store.backup(tmp_path / "copy.db")
    copy = sqlite3.connect(tmp_path / "copy.db")
    assert copy.execute("SELECT count(*) FROM heartfelt_study_work").fetchone() == (1,)
    copy.close()
    assert (tmp_path / "copy.db").stat().st_mode & 0o777 == 0o600
    with pytest.raises(InvalidValue, match="already"):
        store.backup(tmp_path / "copy.db")


# -- through HTTP --------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("kind", ["likert", "sort", "choose"])
def test_from_consent_to_code_and_no_names_on_the_way(tmp_path: Path, kind: str) -> None:
    store = store_in(tmp_path, study_in(tmp_path, kind, 3, "batches: {size: 3, raters: 1}\n" + SURVEY))
    received: list[str] = []
    keep: Any = lambda said: (said.read(), received.append(said.text + str(said.headers)))  # noqa: E731
    with (
        serving(store) as url,
        httpx.Client(base_url=url, timeout=30, event_hooks={"response": [keep]}) as client,
    ):
        client.get("/")
        rater = Rater(client)
        client.get(f"/r/{rater.token}")
        assert rater.get("state") == {"stage": "consent"}
        assert client.post(f"/r/{rater.token}/begin").status_code == 409  # consent comes first
        rater.post("consent")
        state = rater.post("begin")
        batches = 0
        while state["stage"] == "rate":
            batches += 1
            state = rater.do(kind, state)
            if state["stage"] == "survey":
                assert client.post(f"/r/{rater.token}/survey", json={"answers": {}}).status_code == 400
                assert (
                    client.post(
                        f"/r/{rater.token}/survey", json={"answers": {"clear": "perhaps"}}
                    ).status_code
                    == 400
                )
                state = rater.post("survey", {"answers": {"clear": "yes", "remarks": "ملاحظة"}})
            assert state["stage"] == "done"
            assert len(state["codes"]) == batches
            if state["more"]:
                state = rater.post("begin")
        assert batches == len(store.batches)
    everything = "\n".join(received)
    assert HOSTILE.split("<")[1].split(">")[0] in everything  # the replies did come
    for name in (*SYSTEMS, "secret-item", "human", str(tmp_path)):
        assert name not in everything, name


def test_forged_tokens_and_other_peoples_batches(tmp_path: Path) -> None:
    store = store_in(tmp_path, study_in(tmp_path, "sort"))
    with serving(store) as url, httpx.Client(base_url=url, timeout=30) as client:
        one, two = Rater(client), Rater(client)
        state = one.start()
        two.start()
        name, _, code = one.token.partition(".")
        other = two.token.partition(".")[0]
        for forged in (
            name,
            f"{name}.",
            f"{name}.{'A' * 24}",
            f"{other}.{code}",
            code,
            "x" * 500,
            "..",
            f"{name}.{code[:-1]}ü",
        ):
            assert client.get(f"/r/{forged}/state").status_code == 404, forged
            assert client.post(f"/r/{forged}/consent").status_code in (404, 405), forged
        body = {"work": state["work"], "place": 0, "revision": 1, "value": ["good"] * 3}
        assert client.post(f"/r/{two.token}/answer", json=body).status_code == 404
        assert client.post(f"/r/{two.token}/finish", json={"work": state["work"]}).status_code == 404
        assert client.post(f"/r/{one.token}/answer", json=body).status_code == 200
        for wrong in (
            {"place": 99},
            {"place": -1},
            {"revision": 0},
            {"place": "0"},
            {"value": "x" * 10_000},
            {"extra": 1},
        ):
            assert client.post(f"/r/{one.token}/answer", json=body | wrong).status_code == 400, wrong
        assert client.post(f"/r/{one.token}/answer", content=b"{").status_code == 400
        assert client.post(f"/r/{one.token}/answer", content=b"x" * 300_000).status_code == 413


def test_the_admin_page_is_behind_its_key(tmp_path: Path) -> None:
    store = store_in(tmp_path, study_in(tmp_path, "sort"))
    with serving(store) as url, httpx.Client(base_url=url, timeout=30) as client:
        rater = Rater(client)
        rater.do("sort", rater.start())
        asked = [
            ("GET", "/admin/status"),
            ("GET", "/admin/export"),
            ("GET", "/admin/report"),
            ("POST", "/admin/backup"),
            ("POST", "/admin/links"),
        ]
        for method, path in asked:
            for headers in (
                {},
                {"Authorization": "Bearer wrong"},
                {"Authorization": f"Bearer {rater.token}"},
                {"Authorization": "Bearer"},
            ):
                said = client.request(
                    method, path, headers=headers, json={"count": 1} if "links" in path else None
                )
                assert said.status_code == 401, path
                assert not any(name in said.text for name in SYSTEMS)
        assert not any(name in client.get("/admin").text for name in SYSTEMS)
        client.headers["Authorization"] = f"Bearer {KEY}"
        found = client.get("/admin/status").json()
        assert found["figures"]["finished"] == 1
        assert found["raters"][0]["codes"].startswith("HF-")
        rows = [json.loads(line) for line in client.get("/admin/export").text.splitlines()]
        assert len(rows) == 4
        assert set(rows[0]["answer"]["areas"]) == set(SYSTEMS)
        links = client.post("/admin/links", json={"count": 3}).json()["links"]
        assert len({link.rpartition("/")[2] for link in links}) == 3
        assert httpx.get(f"{links[0]}/state").json() == {"stage": "consent"}
        (tmp_path / "copy.db").write_bytes(client.post("/admin/backup").content)
        copy = sqlite3.connect(tmp_path / "copy.db")
        assert copy.execute("SELECT count(*) FROM heartfelt_study_answers").fetchone() == (4,)
        copy.close()


def test_who_may_come(tmp_path: Path) -> None:
    closed = store_in(tmp_path / "a", study_in(tmp_path / "a", "sort", more="access: links"))
    with serving(closed) as url:
        assert httpx.post(f"{url}/join", json={}).status_code == 403
    crowd = store_in(
        tmp_path / "b", study_in(tmp_path / "b", "sort", more="access: crowd\nworker: PROLIFIC_PID")
    )
    with serving(crowd) as url:
        assert httpx.post(f"{url}/join", json={}).status_code == 403
        again = {httpx.post(f"{url}/join", json={"worker": "5f1"}).json()["token"] for _ in range(3)}
        assert len(again) == 1  # a worker is one rater, however often they come
        assert httpx.post(f"{url}/join", json={"worker": "5f2"}).json()["token"] not in again
        assert httpx.post(f"{url}/join", json={"worker": " "}).status_code == 400


def test_the_pages_are_strict_about_what_they_run(tmp_path: Path) -> None:
    store = store_in(tmp_path, study_in(tmp_path, "sort"))
    with serving(store) as url:
        for path in ("/", "/r/anything", "/admin"):
            said = httpx.get(url + path)
            assert "default-src 'none'" in said.headers["content-security-policy"]
            assert "unsafe" not in said.headers["content-security-policy"]
            for inline in ("<style", "style=", "onclick", "http://", "https://"):
                assert inline not in said.text
        for name in ("../store.py", "__init__.py", "nothing.js"):
            assert httpx.get(f"{url}/static/{name}").status_code == 404
