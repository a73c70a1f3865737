"""Talks between two browsers, between a person and an agent, and between scripts that leave, return and are silent."""

import json
import random
import time
from collections import Counter
from pathlib import Path
from typing import Any

import httpx
import pytest
from websockets.sync.client import connect

from heartfelt import corpora
from heartfelt.dialogue import Dialogue
from heartfelt.labels import EMOTIONS
from heartfelt.study import collection, flow
from heartfelt.study.store import Store
from tests.study.conftest import SURVEY, Rater, serving, store_in, study_in
from tests.study.test_pages import code_of, expect, give_survey, opened, picture, through_consent

pytestmark = pytest.mark.filterwarnings("ignore::ResourceWarning")
QUICK = "collect: {wait_seconds: 0.5, away_seconds: 0.6, turn_minutes: 0.02, most_turns: 6, partner: %s}\n"


def collecting(tmp_path: Path, more: str = "") -> Store:
    return store_in(tmp_path, study_in(tmp_path, "collect", more=more))


class Person:
    """Somebody with a WebSocket."""

    def __init__(self, url: str, rater: Rater, situation: str = "I lost my keys.") -> None:
        self.url, self.rater = url, rater
        state = rater.start() if rater.get("state")["stage"] == "consent" else rater.post("begin")
        assert len(state["offered"]) == 3
        self.emotion = state["offered"][0]
        rater.post("feeling", {"emotion": self.emotion})
        assert rater.post("situation", {"text": situation}) == {"stage": "live"}
        self.connect()

    def connect(self) -> None:
        self.socket = connect(f"{self.url.replace('http', 'ws', 1)}/r/{self.rater.token}/live").__enter__()

    def close(self) -> None:
        self.socket.close()

    def send(self, **message: Any) -> None:
        self.socket.send(json.dumps(message))

    def until(self, stage: str, holds: Any = lambda _: True) -> Any:
        ends = time.monotonic() + 15
        while time.monotonic() < ends:
            now = json.loads(self.socket.recv(timeout=15))
            if now["stage"] == stage and holds(now):
                return now
        raise AssertionError(f"never {stage}")

    def say(self, text: str, turns: int) -> Any:
        self.send(type="say", text=text, post=f"{self.rater.token[:8]}-{turns}-{text}")
        return self.until("talk", lambda now: len(now["turns"]) == turns)


def test_two_browsers_talk(browser: Any, tmp_path: Path) -> None:
    store = collecting(tmp_path, "collect: {most_turns: 5}\n" + SURVEY)
    with (
        serving(store) as url,
        opened(browser, url) as one,
        opened(browser, url, viewport={"width": 360, "height": 700}) as two,
    ):
        for page, story in ((one, "My <b>dog</b> ran away."), (two, "I won a prize.")):
            through_consent(page)
            page.get_by_role("button", name="Start").click()
            expect(page.locator(".feelings button")).to_have_count(3)
            picture(page, "feelings")
            page.locator(".feelings button").first.click()
            page.get_by_role("textbox").fill(story)
            picture(page, "situation")
            page.get_by_role("button", name="Find a partner").click()
            if page is one:
                expect(page.get_by_text("Waiting for a partner")).to_be_visible()
                picture(page, "waiting")
        for number, (speaker, listener, story) in enumerate(
            ((one, two, "My <b>dog</b> ran away."), (two, one, "I won a prize."))
        ):
            expect(speaker.get_by_text(f"Talk {number + 1} of 2")).to_be_visible()
            expect(speaker.locator(".task")).to_contain_text(story)
            expect(listener.locator(".task")).to_contain_text("You listen")
            assert story not in listener.content()
            for turn in range(5 if number else 4):
                page, other = (speaker, listener) if turn % 2 == 0 else (listener, speaker)
                expect(other.locator("#message")).to_be_disabled()
                page.locator("#message").fill(f"Turn {turn} of talk {number} <script>alert(1)</script>")
                page.keyboard.press("Enter")
                if (number, turn) != (1, 4):
                    expect(other.locator("#talk li")).to_have_count(turn + 1)
                if turn == 2:
                    picture(page, f"talk-{number}")
                    page.reload()  # nothing is lost
                    expect(page.locator("#talk li")).to_have_count(3)
                    expect(page.locator("#talk script")).to_have_count(0)
            if number == 0:
                listener.get_by_role("button", name="End this talk").click()
        for page in (one, two):
            give_survey(page)
            code_of(page)
    path = tmp_path / "corpus.jsonl"
    path.write_text("".join(d.to_json() + "\n" for d in collection.dialogues(store)))
    talks = list(corpora.load(str(path), strict=True))
    assert [len(talk.turns) for talk in talks] == [4, 5]
    assert [talk.situation for talk in talks] == ["My <b>dog</b> ran away.", "I won a prize."]
    assert all(talk.emotion in EMOTIONS for talk in talks)
    assert [turn.speaker for turn in talks[0].turns] == ["speaker", "listener"] * 2
    assert talks[0].meta["speaker"] == talks[1].meta["listener"]


def test_a_talk_with_an_agent_in_arabic(browser: Any, tmp_path: Path) -> None:
    heard: list[Dialogue] = []

    def agent(dialogue: Dialogue) -> str:
        heard.append(dialogue)
        return f"أفهمك، هذا الدور {len(dialogue.turns)}"

    store = collecting(tmp_path, "language: ar\ncollect: {partner: agent, most_turns: 4}\n")
    phone = {"viewport": {"width": 390, "height": 780}, "locale": "ar-EG"}
    with serving(store, agent) as url, opened(browser, url, **phone) as page:
        page.get_by_role("button", name="أشارك").click()
        page.get_by_role("checkbox").check()
        page.get_by_role("button", name="التالي").click()
        page.get_by_role("button", name="ابدأ").click()
        page.locator(".feelings button").first.click()
        page.get_by_role("textbox").fill("ضاعت قطتي.")
        page.get_by_role("button", name="ابحث عن شريك").click()
        for turn, text in enumerate(("ضاعت قطتي أمس.", "بحثت عنها طويلًا.")):
            page.locator("#message").fill(text)
            page.keyboard.press("Enter")
            if turn == 0:
                expect(page.locator("#talk li")).to_have_count(2)
                picture(page, "talk-arabic")
        code_of(page)
        assert page.evaluate("document.documentElement.scrollWidth") <= 390
    (talk,) = collection.dialogues(store)
    assert [turn.speaker for turn in talk.turns] == ["speaker", "listener"] * 2
    assert talk.meta["listener"] == "agent"
    assert [len(dialogue.turns) for dialogue in heard] == [1, 3]
    assert heard[0].language == "ar"


def test_who_is_there_leaves_and_comes_back(tmp_path: Path) -> None:
    store = collecting(tmp_path, QUICK.replace("turn_minutes: 0.02", "turn_minutes: 5") % "people")
    with serving(store) as url, httpx.Client(base_url=url, timeout=30) as client:
        one, two = Person(url, Rater(client)), Person(url, Rater(client))
        assert one.until("talk")["role"] == "speaker"
        shown = two.until("talk")
        assert shown["role"] == "listener"
        assert "situation" not in shown
        assert "emotion" not in shown
        two.send(type="say", text="Not my turn.", post="x")
        assert two.until("talk")["turns"] == []
        one.say("Hello.", 1)
        one.send(type="say", text="Hello.", post=f"{one.rater.token[:8]}-1-Hello.")  # the same post again
        assert len(one.until("talk")["turns"]) == 1
        one.send(type="end")  # too early
        assert one.until("talk")["may_end"] is False
        two.until("talk", lambda now: now["turn"])
        one.close()  # the connection breaks …
        assert two.until("talk", lambda now: now["away"])
        one.connect()  # … and is back in time
        assert len(one.until("talk")["turns"]) == 1
        assert two.until("talk", lambda now: not now["away"])
        two.say("Hi.", 2)
        one.close()  # this time it stays away
        assert two.until("waiting")["note"] == "left"
        three = Person(url, Rater(client))  # the one who stayed gets another partner
        two.until("talk", lambda now: now["role"] == "speaker")
        three.until("talk")
        for turn in range(1, 7):
            (two if turn % 2 else three).say(f"Turn {turn}", turn) if turn < 6 else three.send(
                type="say", text="Last.", post="last"
            )
        assert three.until("talk", lambda now: now["number"] == 2)["role"] == "speaker"
        three.send(type="leave")
        three.until("over")
        two.until("over")  # their story was told, so they are done
        assert two.rater.get("state")["codes"]
        assert one.rater.get("state")["codes"] == []
        assert three.rater.get("state")["codes"] == []
    outcomes = Counter(talk.meta["outcome"] for talk in collection.dialogues(store, partial=True))
    assert outcomes == {"complete": 1, "left": 1}  # the third talk has no turn at all
    assert len(list(collection.dialogues(store))) == 1


def test_silence_and_nobody(tmp_path: Path) -> None:
    store = collecting(tmp_path, QUICK % "people")
    with serving(store) as url, httpx.Client(base_url=url, timeout=30) as client:
        alone = Person(url, Rater(client))
        alone.send(type="go")
        assert alone.until("waiting", lambda now: now["nobody"])  # too early, then late enough
        alone.send(type="go")
        alone.until("over")
        assert alone.rater.get("state")["codes"]
        one, two = Person(url, Rater(client)), Person(url, Rater(client))
        one.until("talk")
        two.until("talk")
        one.until("over")  # who was to speak said nothing for too long
        assert two.until("waiting")["note"] == "late"


def test_nobody_comes_so_an_agent_does(tmp_path: Path) -> None:
    store = collecting(tmp_path, QUICK.replace("turn_minutes: 0.02", "turn_minutes: 5") % "either")
    with (
        serving(store, lambda dialogue: "Tell me more.") as url,
        httpx.Client(base_url=url, timeout=30) as client,
    ):
        person = Person(url, Rater(client))
        person.until("talk")
        assert person.say("Hello.", 1)
        assert person.until("talk", lambda now: len(now["turns"]) == 2)["turns"][1]["text"] == "Tell me more."


def test_emotions_stay_balanced(tmp_path: Path) -> None:
    store = collecting(tmp_path, "batches: {most: 100}\n")
    chosen: Counter[str] = Counter()
    chance = random.Random(3)
    tokens = [store.join() for _ in range(16)]
    for token in tokens:
        flow.consent(store, token)
    for number in range(96):
        token = tokens[number % len(tokens)]
        offered = flow.begin(store, token)["offered"]
        assert len(set(offered)) == 3
        taken = chance.choice(offered)
        collection.feel(store, token, taken)
        chosen[taken] += 1
        with store.reading() as connection:
            visit = collection.open_visit(connection, store, token)["id"]
        collection.end_visit(store, visit, True)
    assert len(chosen) == 32
    assert max(chosen.values()) - min(chosen.values()) <= 2


def test_forged_and_early_sockets(tmp_path: Path) -> None:
    from websockets.exceptions import ConnectionClosed

    store = collecting(tmp_path)
    with serving(store) as url, httpx.Client(base_url=url, timeout=30) as client:
        rater = Rater(client)
        rater.start()
        for token in ("nobody.AAAA", rater.token):  # forged; and no situation written yet
            with (
                connect(f"{url.replace('http', 'ws', 1)}/r/{token}/live") as socket,
                pytest.raises(ConnectionClosed),
            ):
                socket.recv(timeout=10)
        assert client.post(f"/r/{rater.token}/feeling", json={"emotion": "bored"}).status_code == 400
        assert client.post(f"/r/{rater.token}/situation", json={"text": "x"}).status_code == 409


def test_a_talk_goes_on_after_the_server_went(tmp_path: Path) -> None:
    study = study_in(tmp_path, "collect")
    store = store_in(tmp_path, study)
    with serving(store) as url, httpx.Client(base_url=url, timeout=30) as client:
        one, two = Person(url, Rater(client)), Person(url, Rater(client))
        one.until("talk")
        one.say("Before.", 1)
        tokens = (one.rater.token, two.rater.token)
    store = store_in(tmp_path, study)  # another process would find as much: the database, and nothing else
    with serving(store) as url, httpx.Client(base_url=url, timeout=30) as client:
        for person, token in ((one, tokens[0]), (two, tokens[1])):
            person.url, person.rater = url, Rater(client, token)
            person.connect()
        assert [turn["text"] for turn in one.until("talk")["turns"]] == ["Before."]
        assert two.until("talk", lambda now: now["turn"])["role"] == "listener"
        assert two.say("After.", 2)["turns"][1]["mine"]
        assert one.until("talk", lambda now: len(now["turns"]) == 2)
