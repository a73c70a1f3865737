"""Where a person in need can turn: helplines by country, from heartfelt/assets/guard/helplines.yaml.

The country comes from an argument ("GB", "en_GB", "ar-EG"), else from the environment (HEARTFELT_LOCALE, LC_ALL,
LC_MESSAGES, LANG), else there is none, and the international directory is named alone.
"""

import os
import re
from collections.abc import Mapping
from functools import cache
from pathlib import Path

from heartfelt.agent.patterns import FOLDER, read_sheet
from heartfelt.dialogue import Value
from heartfelt.errors import InvalidValue

ENVIRONMENT = ("HEARTFELT_LOCALE", "LC_ALL", "LC_MESSAGES", "LANG")


class Line(Value, frozen=True, rename={"purposes": "for"}):
    name: str
    purposes: tuple[str, ...]  # suicide, abuse, children
    source: str
    call: str = ""
    text: str = ""
    web: str = ""
    hours: str = ""
    checked: str = ""  # when someone last looked at the source

    def __post_init__(self) -> None:
        if not (self.call or self.text or self.web):
            raise InvalidValue(f"the helpline {self.name} has no way to reach it")


class Country(Value, frozen=True):
    en: str
    ar: str
    emergency: dict[str, str]  # "all", or whom one reaches ("police", "ambulance") → number
    lines: tuple[Line, ...] = ()


class Helplines(Value, frozen=True):
    checked: str  # of every line that has no date of its own
    international: Line
    countries: dict[str, Country]

    def show(self, country: str | None, purpose: str, language: str = "en") -> str:
        """A few lines of text: whom to call in an emergency, whom to talk to, and where to look elsewhere."""
        say = _WORDS["ar" if language == "ar" else "en"]
        here = self.countries.get(country or "")
        if here is None:
            return f"{say['danger']}\n{say['anywhere'].format(self.international.web)}"
        name = here.ar if language == "ar" else here.en
        numbers = ", ".join(f"{number}{say[whom]}" for whom, number in here.emergency.items())
        # Whoever listens to thoughts of suicide listens to everybody.
        lines = sorted(here.lines, key=lambda line: purpose not in line.purposes)
        shown = [f"- {_reach(line, say)}" for line in lines if {purpose, "suicide"} & set(line.purposes)]
        return "\n".join(
            [
                say["danger here"].format(name, numbers),
                *shown[:2],
                say["elsewhere"].format(self.international.web),
            ]
        )

    def contacts(self) -> set[str]:
        """Every number and address in the file: what a reply may name."""
        lines = [self.international, *(line for place in self.countries.values() for line in place.lines)]
        ways = {way for line in lines for way in (line.call, line.text, line.web) if way}
        return ways | {number for place in self.countries.values() for number in place.emergency.values()}


_WORDS = {
    "en": {
        "danger": "If there is danger right now, please call your local emergency number.",
        "danger here": "If there is danger right now, in {} call {}.",
        "anywhere": "Free and confidential lines in many countries: {}",
        "elsewhere": "If you are somewhere else: {}",
        "all": "", "police": " (police)", "ambulance": " (ambulance)",
        "call": "call {}", "text": "text {}", "or": " or ", "day and night": "day and night",
    },
    "ar": {
        "danger": "إذا كان هناك خطر الآن فاتصل برقم الطوارئ في بلدك.",
        "danger here": "إذا كان هناك خطر الآن فاتصل بالطوارئ في {}: {}.",
        "anywhere": "خطوط مجانية وسرية في بلدان كثيرة: {}",
        "elsewhere": "وإن كنت في بلد آخر: {}",
        "all": "", "police": " (الشرطة)", "ambulance": " (الإسعاف)",
        "call": "اتصل على {}", "text": "أرسل رسالة إلى {}", "or": " أو ", "day and night": "ليل نهار",
    },
}  # fmt: skip


def _reach(line: Line, say: Mapping[str, str]) -> str:
    ways = [say[way].format(value) for way, value in (("call", line.call), ("text", line.text)) if value]
    hours = f" ({say.get(line.hours, line.hours)})" if line.hours else ""
    return f"{line.name}: {say['or'].join([*ways, line.web] if line.web else ways)}{hours}"


def country_of(locale: str | None = None, environment: Mapping[str, str] = os.environ) -> str | None:
    """The country's code in a locale: "en_GB.UTF-8" → "GB". None where a locale has none."""
    ours = locale or environment.get(ENVIRONMENT[0], "")
    named = ours or next((environment[name] for name in ENVIRONMENT if environment.get(name)), "")
    # In the system's own variables two letters alone are a language; and so are en and ar, whoever says them.
    if named in ("en", "ar") or (not ours and len(named) == 2):
        return None
    found = re.fullmatch(r"(?:[a-z]{2,3}[_-](?:[a-z]{4}[_-])?)?([a-z]{2})(?:[.@].*)?", named, re.IGNORECASE)
    if locale and not found:
        raise InvalidValue(f"'{locale}' names no country; give one such as GB, or a locale such as en_GB")
    country = found[1].upper() if found else None
    return "GB" if country == "UK" else country


@cache
def load(path: Path = FOLDER / "helplines.yaml") -> Helplines:
    return read_sheet(path, Helplines)
