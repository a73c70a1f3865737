"""Each kind of rating study in a real Chromium, from consent to code: mouse, finger, keyboard, phone, Arabic.

HEARTFELT_SCREENSHOTS=folder keeps pictures.
"""

import os
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pytest

from heartfelt.study.file import load
from heartfelt.study.new import new_study
from heartfelt.study.records import works
from heartfelt.study.store import Store
from tests.study.conftest import HOSTILE, KEY, SURVEY, SYSTEMS, serving, store_in, study_in

sync_api = pytest.importorskip("playwright.sync_api", reason="pip install 'heartfelt[dev]'")
expect = sync_api.expect
pytestmark = pytest.mark.filterwarnings("ignore::ResourceWarning")
WARMUP = """
warmup:
  context: ["I have an exam."]
  replies:
    - {text: "Good luck! Which one?", area: good, hint: "It asks on."}
    - {text: "I like bananas.", area: bad, hint: "It has nothing to do with it."}
"""


@contextmanager
def opened(browser: Any, url: str, path: str = "/", quiet: bool = True, **options: Any) -> Iterator[Any]:
    """A page that must ask nobody but us, and whose console must stay empty."""
    context = browser.new_context(
        **({"locale": "en-GB", "viewport": {"width": 1100, "height": 800}} | options)
    )
    page = context.new_page()
    page.set_default_timeout(20_000)
    elsewhere: list[str] = []
    said: list[str] = []
    own = (url, url.replace("http", "ws", 1))
    page.on(
        "request", lambda request: request.url.startswith((*own, "blob:")) or elsewhere.append(request.url)
    )
    page.on(
        "console", lambda message: said.append(message.text) if message.type in ("error", "warning") else None
    )
    page.on("pageerror", lambda error: said.append(str(error)))
    page.goto(url + path)
    yield page
    context.close()
    assert elsewhere == []
    assert not quiet or said == []


def picture(page: Any, name: str) -> None:
    if folder := os.environ.get("HEARTFELT_SCREENSHOTS"):
        page.screenshot(path=str(Path(folder) / f"study-{name}.png"), full_page=True)


def through_consent(page: Any) -> None:
    page.get_by_role("button", name="Take part").click()
    next_ = page.get_by_role("button", name="Next")
    expect(next_).to_be_disabled()
    page.get_by_role("checkbox").check()
    next_.click()


def give_survey(page: Any) -> None:
    page.get_by_role("radio", name="yes").check()
    page.get_by_role("textbox", name="Anything else?").fill("No <b>thanks</b>.")
    page.get_by_role("button", name="Send").click()


def code_of(page: Any) -> str:
    shown = page.locator("#code")
    expect(shown).to_contain_text("HF-")
    return str(shown.inner_text())


def served(tmp_path: Path, kind: str, more: str = "", items: int = 3) -> Store:
    return store_in(tmp_path, study_in(tmp_path, kind, items, more + SURVEY))


def test_likert_by_mouse(browser: Any, tmp_path: Path) -> None:
    store = served(tmp_path, "likert", "together: true\nbatches: {size: 3, raters: 1}\n")
    with serving(store) as url, opened(browser, url) as page:
        picture(page, "front")
        through_consent(page)
        expect(page.get_by_role("button", name="Start")).to_be_visible()
        picture(page, "likert-instructions")
        page.get_by_role("button", name="Start").click()
        for number in range(3):
            expect(page.locator(".progress p")).to_have_text(f"Conversation {number + 1} of 3")
            expect(page.locator("#next")).to_be_disabled()
            for scale in page.locator("fieldset.scale").all():
                scale.locator("label").nth(3).click()
            expect(page.locator("#saved")).to_have_text("Saved")
            assert (
                sum(len(work.answers) for work in works(store)) == number + 1
            )  # what it calls saved is there
            if number == 1:
                picture(page, "likert")
                page.reload()  # nothing is lost: back to the first page without an answer
                expect(page.locator(".progress p")).to_have_text("Conversation 3 of 3")
                page.get_by_role("button", name="Back").click()
                expect(page.locator("fieldset.scale input:checked")).to_have_count(6)
                page.locator("fieldset.scale").first.locator("label").nth(0).click()  # another mind
                expect(page.locator("#saved")).to_have_text("Saved")
                page.go_back()  # the browser's own button
                expect(page.locator(".progress p")).to_have_text("Conversation 3 of 3")
                page.go_forward()
            expect(page.locator("#next")).to_be_enabled()
            page.locator("#next").click()
        picture(page, "survey")
        give_survey(page)
        assert code_of(page) == works(store)[0].code
        picture(page, "code")
        assert not any(name in page.content() for name in SYSTEMS)
    answers = works(store)[0].answers
    assert (
        sorted(score for one in answers for by in one.value["scores"].values() for score in by.values())
        == [1] + [4] * 17
    )


def test_sort_by_mouse_with_warmup_and_bonus(browser: Any, tmp_path: Path) -> None:
    store = served(tmp_path, "sort", "bonus: 1\nbatches: {size: 2, raters: 1}\n" + WARMUP, items=2)
    with serving(store) as url, opened(browser, url) as page:
        through_consent(page)
        start = page.get_by_role("button", name="Start")
        expect(start).to_be_disabled()  # the warm-up comes first
        page.locator(".card").nth(0).drag_to(page.locator(".zone.good"))
        page.locator(".card[data-card='1']").drag_to(page.locator(".zone.okay"))
        page.get_by_role("button", name="Check", exact=True).click()
        expect(page.locator(".card[data-card='0'] .feedback")).to_have_text("Well done.")
        expect(page.locator(".card[data-card='1'] .feedback")).to_have_text("It has nothing to do with it.")
        picture(page, "warmup")
        start.click()
        for number in range(2):
            expect(page.locator(".progress p")).to_have_text(f"Conversation {number + 1} of 2")
            picture(page, f"sort-{number}")
            for card in range(page.locator(".card").count()):
                page.locator(f".card[data-card='{card}']").drag_to(page.locator(".zone").nth(1 + card % 3))
            expect(page.locator("#saved")).to_have_text("Saved")
            for card in range(page.locator(".card").count()):
                expect(page.locator(f".card[data-card='{card}']")).to_have_attribute(
                    "data-area", ("good", "okay", "bad")[card % 3]
                )
            if page.get_by_role("button", name="Check bonus").count():
                page.get_by_role("button", name="Check bonus").click()
                expect(page.locator("#bonus")).to_contain_text("bonus point")
            picture(page, f"sort-{number}-done")
            assert page.locator("main script, main img").count() == 0  # what a reply says is text
            page.locator("#next").click()
        give_survey(page)
        code_of(page)
        assert page.title() == "test-sort"
    judged = works(store)[0].answers
    assert sum(HOSTILE in " ".join(answer.item.replies.values()) for answer in judged) == 1
    for answer in judged:
        assert [answer.value["areas"][system] for system in answer.order] == ["good", "okay", "bad", "good"][
            : len(answer.order)
        ]
    assert sum(len(answer.order) == 4 for answer in judged) == 1


def tab_to(page: Any, selector: str) -> None:
    for _ in range(60):
        if page.evaluate("s => document.activeElement.matches(s)", selector):
            return
        page.keyboard.press("Tab")
    raise AssertionError(f"no way to {selector} by Tab")


def start_by_keyboard(page: Any) -> None:
    tab_to(page, "button.main")
    page.keyboard.press("Enter")
    expect(page.get_by_role("checkbox")).to_be_visible()
    tab_to(page, "#agree")
    page.keyboard.press("Space")
    tab_to(page, "button.main")
    page.keyboard.press("Enter")
    expect(page.get_by_role("button", name="Start")).to_be_visible()
    tab_to(page, "button.main")
    page.keyboard.press("Enter")


def end_by_keyboard(page: Any) -> None:
    expect(page.get_by_role("button", name="Send")).to_be_visible()
    tab_to(page, "input[type=radio]")
    page.keyboard.press("Space")
    tab_to(page, "button.main")
    page.keyboard.press("Enter")
    code_of(page)


@pytest.mark.parametrize("kind", ["likert", "choose"])
def test_scales_and_choices_by_keyboard_alone(browser: Any, tmp_path: Path, kind: str) -> None:
    study = study_in(
        tmp_path, kind, 2, "batches: {size: 2, raters: 1}\n" + SURVEY, SYSTEMS[: 1 + (kind == "choose")]
    )
    store = store_in(tmp_path, study)
    with serving(store) as url, opened(browser, url) as page:
        start_by_keyboard(page)
        for number in range(2):
            expect(page.locator(".progress p")).to_have_text(f"Conversation {number + 1} of 2")
            groups = ("r0-empathy", "r0-fluency") if kind == "likert" else ("choice",)
            for name in groups:
                tab_to(page, f"input[name='{name}']")
                page.keyboard.press("Space")
                page.keyboard.press("ArrowDown")  # the second point
            expect(page.locator("#saved")).to_have_text("Saved")
            expect(page.locator("#next")).to_be_enabled()
            tab_to(page, "#next")
            page.keyboard.press("Enter")
        end_by_keyboard(page)
    for answer in works(store)[0].answers:
        if kind == "likert":
            assert answer.value["scores"] == {SYSTEMS[0]: {"empathy": 2, "fluency": 2}}
        else:
            assert answer.value["winner"] == answer.order[1]


def test_sort_by_keyboard_alone(browser: Any, tmp_path: Path) -> None:
    store = served(tmp_path, "sort", "batches: {size: 2, raters: 1}\n", items=2)
    with serving(store) as url, opened(browser, url) as page:
        start_by_keyboard(page)
        for number in range(2):
            expect(page.locator(".progress p")).to_have_text(f"Conversation {number + 1} of 2")
            for card, key in ((0, "1"), (1, "3"), (2, "2")):
                tab_to(page, f".card[data-card='{card}']")
                page.keyboard.press(key)
                expect(page.locator("#announce")).to_contain_text(f"Reply {card + 1}")
                assert page.evaluate("document.activeElement.dataset.card") == str(card)  # focus goes with it
                page.evaluate("document.activeElement.blur()")
            tab_to(page, ".card[data-card='2'] [data-to='bad']")
            page.keyboard.press("Enter")  # its buttons, too
            expect(page.locator("#saved")).to_have_text("Saved")
            expect(page.locator("#next")).to_be_enabled()
            tab_to(page, "#next")
            page.keyboard.press("Enter")
        end_by_keyboard(page)
        unnamed = page.evaluate(
            """[...document.querySelectorAll('button, a, input, textarea, select')]
               .filter(e => !(e.textContent.trim() || e.labels?.length || e.ariaLabel)).map(e => e.outerHTML)"""
        )
        assert unnamed == []
    for answer in works(store)[0].answers:
        assert [answer.value["areas"][system] for system in answer.order] == ["good", "bad", "bad"]


def test_sort_on_a_phone_by_finger(browser: Any, tmp_path: Path) -> None:
    store = served(tmp_path, "sort", "batches: {size: 1, raters: 1}\n", items=1)
    phone = {
        "viewport": {"width": 360, "height": 640},
        "has_touch": True,
        "is_mobile": True,
        "color_scheme": "dark",
    }
    with serving(store) as url, opened(browser, url, **phone) as page:
        through_consent(page)
        page.get_by_role("button", name="Start").tap()
        expect(page.locator(".card")).to_have_count(3)
        assert page.evaluate("document.documentElement.scrollWidth") <= 360
        picture(page, "sort-phone")
        session = page.context.new_cdp_session(page)
        handle, zone = page.locator(".card[data-card='0'] .handle"), page.locator(".zone.good h3")
        middle = lambda box: (box["x"] + box["width"] / 2, box["y"] + box["height"] / 2)  # noqa: E731
        touch = lambda kind, at: session.send(  # noqa: E731
            "Input.dispatchTouchEvent",
            {"type": kind, "touchPoints": [{"x": at[0], "y": at[1]}] if at else []},
        )
        x, y = middle(handle.bounding_box())
        assert zone.bounding_box()["y"] > 640, "the areas lie below the screen"
        touch("touchStart", (x, y))
        for step in range(1, 11):
            touch("touchMove", (x, y + (610 - y) * step / 10))
        for _ in range(100):  # held at the screen's edge: the page comes along
            if zone.bounding_box()["y"] < 500:
                break
            page.wait_for_timeout(20)
        touch("touchMove", middle(zone.bounding_box()))
        touch("touchMove", middle(zone.bounding_box()))
        touch("touchEnd", None)
        expect(page.locator(".card[data-card='0']")).to_have_attribute("data-area", "good")
        page.wait_for_timeout(400)  # as long as a person takes to lift a finger and put it down again
        for number in (
            1,
            2,
        ):  # or by a tap; a card of a page that still moves may be missed, as people miss it
            card = page.locator(f".card[data-card='{number}']")
            for _ in range(3):
                if card.get_attribute("data-area") != "bad":
                    card.locator("[data-to='bad']").tap()
                    page.wait_for_timeout(500)
            expect(card).to_have_attribute("data-area", "bad")
        expect(page.locator("#saved")).to_have_text("Saved")
        picture(page, "sort-phone-done")
        assert page.evaluate("document.documentElement.scrollWidth") <= 360
        page.locator("#next").tap()
        give_survey(page)
        code_of(page)


def test_choose_by_keys_and_mouse(browser: Any, tmp_path: Path) -> None:
    study = study_in(tmp_path, "choose", 4, "batches: {size: 4, raters: 1}\n" + SURVEY, SYSTEMS[:2])
    store = store_in(tmp_path, study)
    with serving(store) as url, opened(browser, url) as page:
        through_consent(page)
        page.get_by_role("button", name="Start").click()
        for number, name in enumerate(("Reply 1 is better", "Reply 2 is better", "Equally good", "Both bad")):
            expect(page.locator(".progress p")).to_have_text(f"Conversation {number + 1} of 4")
            if number % 2:
                page.get_by_role("radio", name=name).check()
            else:
                page.get_by_role("radio", name=name).focus()
                page.keyboard.press("Space")
            expect(page.locator("#saved")).to_have_text("Saved")
            if number == 1:
                picture(page, "choose")
            page.locator("#next").click()
        give_survey(page)
        code_of(page)
    given = works(store)[0].answers
    assert [answer.value["winner"] for answer in given] == [
        given[0].order[0],
        given[1].order[1],
        ":tie",
        ":bad",
    ]


@pytest.mark.parametrize("kind", ["likert", "sort", "choose"])
def test_in_arabic_from_right_to_left(browser: Any, tmp_path: Path, kind: str) -> None:
    path = new_study(tmp_path / "arabic", kind, "ar")
    store = store_in(path.parent, load(path))
    with (
        serving(store) as url,
        opened(browser, url, locale="ar-EG", viewport={"width": 390, "height": 780}) as page,
    ):
        assert page.evaluate("getComputedStyle(document.body).direction") == "rtl"
        page.get_by_role("button", name="أشارك").click()
        page.get_by_role("checkbox").check()
        page.get_by_role("button", name="التالي").click()
        if kind == "sort":
            for card in range(3):
                page.locator(f".card[data-card='{card}'] [data-to='good']").click()
            page.get_by_role("button", name="تحقّق", exact=True).click()
        page.get_by_role("button", name="ابدأ").click()
        expect(page.locator(".progress p")).to_contain_text("المحادثة 1 من")
        picture(page, f"{kind}-arabic")
        while page.locator(".progress").count():
            before = page.locator(".progress p").inner_text()
            if kind == "sort":
                for card in range(page.locator(".card").count()):
                    page.locator(f".card[data-card='{card}'] [data-to='okay']").click()
            elif kind == "likert":
                for scale in page.locator("fieldset.scale").all():
                    scale.locator("label").first.click()
            else:
                page.get_by_role("radio", name="كلاهما سيئ").check()
            expect(page.locator("#saved")).to_have_text("حُفظ")
            page.locator("#next").click()
            expect(page.get_by_text(before, exact=True)).to_have_count(0)
        page.get_by_role("radio").first.check()
        page.get_by_role("button", name="أرسل").click()
        code_of(page)
        assert page.evaluate("document.documentElement.scrollWidth") <= 390


def test_what_cannot_be_saved_is_said_and_tried_again(browser: Any, tmp_path: Path) -> None:
    store = served(tmp_path, "choose", "batches: {size: 3, raters: 1}\n", items=1)
    with serving(store) as url, opened(browser, url, quiet=False) as page:
        through_consent(page)
        page.get_by_role("button", name="Start").click()
        expect(page.get_by_role("radio")).to_have_count(4)
        page.context.set_offline(True)
        page.get_by_role("radio").first.check()
        expect(page.locator("#saved")).to_contain_text("Not saved yet")
        expect(page.locator("#next")).to_be_disabled()
        assert works(store)[0].answers == ()
        page.context.set_offline(False)
        expect(page.locator("#saved")).to_have_text("Saved")
        assert len(works(store)[0].answers) == 1


def test_a_forged_link_and_the_admin_page(browser: Any, tmp_path: Path) -> None:
    store = served(tmp_path, "sort")
    with serving(store) as url:
        with opened(browser, url, "/r/r000000000000.AAAA", quiet=False) as page:
            expect(page.get_by_role("alert")).to_contain_text("This link is not known here")
        with opened(browser, url, "/admin", quiet=False) as page:
            page.get_by_label("Admin key").fill("wrong")
            page.get_by_role("button", name="Open").click()
            expect(page.get_by_role("alert")).to_contain_text("needs the study's admin key")
            page.get_by_label("Admin key").fill(KEY)
            page.get_by_role("button", name="Open").click()
            expect(page.locator("#figures")).to_contain_text("batches")
            page.get_by_role("button", name="Make links").click()
            expect(page.locator("#links")).to_contain_text("/r/")
            with page.expect_download() as download:
                page.get_by_role("button", name="Back up").click()
            assert download.value.suggested_filename == "study.db"
            picture(page, "admin")
