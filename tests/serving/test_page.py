"""The page in a real Chromium: what a person does, and what they see. HEARTFELT_SCREENSHOTS=folder keeps pictures."""

import os
import shutil
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import httpx
import pytest

from tests.conftest import skip
from tests.serving.conftest import STEERED, TEXT, Speaks, serving

sync_api = pytest.importorskip("playwright.sync_api", reason="pip install 'heartfelt[dev]'")
expect = sync_api.expect
pytestmark = pytest.mark.filterwarnings("ignore::ResourceWarning")
SAD = "My dog died last night and the house is so quiet."


@pytest.fixture(scope="module")
def browser() -> Iterator[Any]:
    found = shutil.which("chromium") or shutil.which("chromium-browser") or shutil.which("google-chrome")
    if found is None:
        skip("needs Chromium: apt-get install chromium")
    expect.set_options(timeout=20_000)
    with sync_api.sync_playwright() as playwright:
        made = playwright.chromium.launch(executable_path=found, args=["--no-sandbox"])
        yield made
        made.close()


@pytest.fixture(scope="module")
def address(warm: None) -> Iterator[str]:
    with serving(Speaks(), candidates=1, locale="GB") as found:
        yield found


@pytest.fixture
def page(browser: Any, address: str) -> Iterator[Any]:
    yield from _page(browser, address)


def _page(browser: Any, address: str, path: str = "/", **options: Any) -> Iterator[Any]:
    """A page that must ask nobody but us, and whose console must stay empty."""
    context = browser.new_context(
        **({"locale": "en-GB", "viewport": {"width": 1100, "height": 760}} | options)
    )
    made = context.new_page()
    made.set_default_timeout(20_000)
    elsewhere: list[str] = []
    said: list[str] = []
    made.on("request", lambda request: request.url.startswith(address) or elsewhere.append(request.url))
    made.on(
        "console", lambda message: said.append(message.text) if message.type in ("error", "warning") else None
    )
    made.on("pageerror", lambda error: said.append(str(error)))
    made.goto(address + path)
    yield made
    context.close()
    assert elsewhere == []
    assert said == []


def say(page: Any, text: str) -> None:
    page.get_by_role("textbox").fill(text)
    page.keyboard.press("Enter")


def picture(page: Any, name: str) -> None:
    if folder := os.environ.get("HEARTFELT_SCREENSHOTS"):
        page.screenshot(path=str(Path(folder) / f"{name}.png"))


def test_a_talk_its_why_and_another_answer(page: Any) -> None:
    say(page, SAD)
    said = page.locator("#talk li.it .text").last
    expect(said).to_have_text(STEERED["questioning"] if _asks(page) else TEXT)
    page.get_by_role("button", name="Why this answer?").click()
    panel = page.get_by_role("complementary")
    expect(panel).to_be_visible()
    expect(panel.locator("#why-heard .row")).not_to_have_count(0)
    heard = panel.locator("#why-heard .row span").first.inner_text()
    assert heard in ("sad", "devastated", "lonely")
    panel.get_by_role("button", name="consoling").click()
    expect(said).to_contain_text(STEERED["consoling"])
    expect(panel.get_by_role("button", name="consoling")).to_have_attribute("aria-pressed", "true")
    expect(panel.locator("#why-candidates li")).to_have_count(4)
    expect(panel.locator("#why-plan .row span").first).to_have_text("consoling")
    picture(page, "why-light")
    panel.get_by_role("button", name="questioning").drag_to(page.locator("#talk li.it").last)
    expect(said).to_contain_text(STEERED["questioning"])
    page.keyboard.press("Escape")
    say(page, "Ten years.")  # the talk goes on from there
    expect(page.locator("#talk li")).to_have_count(5)
    expect(page.locator("#talk li .ask")).to_have_count(2)
    page.get_by_role("button", name="New talk").click()
    expect(page.locator("#talk li")).to_have_count(1)


def _asks(page: Any) -> bool:
    """Which of the two the fake says depends on what the encoder plans; both are replies."""
    expect(page.locator("#talk li .ask")).to_have_count(1)
    return bool(page.locator("#talk li.it .text").last.inner_text() == STEERED["questioning"])


def test_a_script_is_text(page: Any) -> None:
    hostile = "<script>document.title='taken'</script><img src=x onerror=alert(1)>"
    say(page, f"{hostile} my dog died")
    mine = page.locator("#talk li.me .text").last
    expect(mine).to_contain_text(hostile)
    expect(page.locator("#talk li .ask")).to_have_count(1)
    assert page.title() == "Heartfelt"
    assert page.locator("#talk img, #talk script").count() == 0
    picture(page, "script-as-text")


def test_what_the_model_says_is_text_too(browser: Any, warm: None) -> None:
    with serving(Speaks("<b>Oh</b> <script>alert(1)</script> no."), candidates=1) as address:
        for page in _page(browser, address):
            say(page, SAD)
            expect(page.locator("#talk li.it .text").last).to_have_text(
                "<b>Oh</b> <script>alert(1)</script> no."
            )
            assert page.locator("#talk b, #talk script").count() == 0


def test_a_crisis_names_helplines_and_they_are_always_one_click_away(page: Any) -> None:
    page.get_by_role("button", name="Helplines").click()
    dialog = page.get_by_role("dialog")
    expect(dialog).to_contain_text("116 123")
    dialog.get_by_label("Where you are").select_option("US")
    expect(dialog.locator(".lines:visible")).to_contain_text("988")
    dialog.get_by_role("button", name="Close").click()
    say(page, "I want to kill myself tonight.")
    expect(page.locator("#talk li.refer .text")).to_contain_text("116 123")
    page.get_by_role("button", name="Why this answer?").click()
    expect(page.locator("#why-guard")).to_contain_text("crisis")
    expect(page.locator("#why-steer")).to_be_hidden()
    picture(page, "crisis")


def test_arabic_runs_from_right_to_left(browser: Any, address: str) -> None:
    for page in _page(browser, address, locale="ar-EG"):
        assert page.evaluate("getComputedStyle(document.body).direction") == "rtl"
        say(page, "أريد أن أقتل نفسي")
        expect(page.locator("#talk li.refer .text")).to_contain_text("116 123")
        box, room = page.locator("#talk li.me").bounding_box(), page.locator("main").bounding_box()
        assert (
            box["x"] - room["x"] < room["x"] + room["width"] - box["x"] - box["width"]
        )  # mine stand on the left
        answer = page.locator("#talk li.refer .text")
        assert (
            answer.evaluate("e => getComputedStyle(e).direction + getComputedStyle(e).unicodeBidi")
            == "rtlisolate"
        )
        page.get_by_role("button", name="لماذا").click()
        picture(page, "arabic")
        page.get_by_role("link", name="English").click()
        assert page.evaluate("getComputedStyle(document.body).direction") == "ltr"


def test_on_a_phone_in_the_dark(browser: Any, address: str) -> None:
    for page in _page(
        browser, address, viewport={"width": 360, "height": 640}, color_scheme="dark", has_touch=True
    ):
        say(page, SAD)
        expect(page.locator("#talk li .ask")).to_have_count(1)
        assert page.evaluate("document.documentElement.scrollWidth") <= 360
        assert page.evaluate("getComputedStyle(document.body).backgroundColor") == "rgb(22, 24, 30)"
        expect(page.get_by_role("button", name="Helplines")).to_be_in_viewport()
        picture(page, "phone-dark")
        page.get_by_role("button", name="Why this answer?").click()
        expect(page.get_by_role("complementary")).to_be_in_viewport()
        picture(page, "phone-dark-why")


def test_by_keyboard_alone(page: Any) -> None:
    assert page.evaluate("document.activeElement.id") == "message"
    page.keyboard.type("My dog died.")
    page.keyboard.press("Enter")
    expect(page.locator("#talk li .ask")).to_have_count(1)
    page.locator("#talk li .ask").focus()
    page.keyboard.press("Enter")
    assert page.evaluate("document.activeElement.id") == "why"
    page.keyboard.press("Escape")
    expect(page.locator("#why")).to_be_hidden()
    assert page.evaluate("document.activeElement.className") == "quiet ask"
    unnamed = page.evaluate(
        """[...document.querySelectorAll('button, a, input, textarea, select')]
           .filter(e => !(e.textContent.trim() || e.labels?.length || e.ariaLabel)).map(e => e.outerHTML)"""
    )
    assert unnamed == []


def test_what_fails_is_said_and_what_was_written_is_not_lost(browser: Any, warm: None) -> None:
    with serving(Speaks(pause=0.2), candidates=1, keys=("right",)) as address:
        context = browser.new_context(locale="en-GB")
        page = context.new_page()
        page.goto(address)
        say(page, SAD)
        expect(page.get_by_role("alert")).to_contain_text("A key is needed")
        assert page.get_by_role("textbox", name="What is on your mind?").input_value() == SAD
        page.get_by_label("This server needs a key").fill("right")
        page.get_by_role("button", name="Use it").click()
        page.get_by_role("button", name="Send").click()
        page.get_by_role("button", name="Stop").click()  # enough: the message comes back
        expect(page.get_by_role("button", name="Send")).to_be_visible()
        assert page.get_by_role("textbox", name="What is on your mind?").input_value() == SAD
        page.get_by_role("button", name="Send").click()
        expect(page.locator("#talk li .ask")).to_have_count(1)
        context.close()


def test_the_page_is_strict_about_what_it_runs(address: str) -> None:
    said = httpx.get(address)
    rules = said.headers["content-security-policy"]
    assert "default-src 'none'" in rules
    assert "unsafe" not in rules
    assert "http" not in rules
    assert "<style" not in said.text
    assert "style=" not in said.text
    assert "onclick" not in said.text
    assert httpx.get(f"{address}/static/nothing.js").status_code == 404
    assert httpx.get(f"{address}/static/__init__.py").status_code == 404
    for name in ("chat.js", "why.js", "chat.css"):
        assert "http://" not in httpx.get(f"{address}/static/{name}").text.replace(
            "http://www.w3.org/2000/svg", ""
        )
