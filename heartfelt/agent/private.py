"""Private data in a text: found by form, masked for logs. Numbers that cannot be a card or an account are left.

>>> mask("Write to ann@example.org or call +44 20 7946 0958, my name is Ann Lee.")
'Write to [e-mail] or call [phone], my name is [name].'
"""

import re
from collections.abc import Callable

_FRESH = r"(?<![\w.+-])"  # where a name begins: from anywhere else, a long text would be read over and over
_NUMBER_ENDS = r"(?![\w@]|[.,]\d)"
_STREET = (
    "street|st|avenue|ave|road|rd|lane|ln|drive|dr|boulevard|blvd|court|ct|place|pl|terrace|crescent|close|"
    "square|highway|hwy|parkway|pkwy|gardens|grove|mews"
)


def mask(text: str) -> str:
    """The text with e-mails, links, cards, accounts, addresses, phone numbers and told names named, not shown."""
    for name, form, holds in _FORMS:
        text = _replaced(text, name, form, holds)
    return _NAMED.sub(r"\1[name]", text)


def _replaced(text: str, name: str, form: re.Pattern[str], holds: Callable[[str], bool]) -> str:
    return form.sub(lambda hit: f"[{name}]" if holds(hit[0]) else hit[0], text)


def contacts(text: str) -> list[str]:
    """E-mails, links and phone numbers, as they stand in the text."""
    found = []
    for name, form, holds in _FORMS:
        if name in ("e-mail", "link", "phone"):
            found += [hit[0] for hit in form.finditer(text) if holds(hit[0])]
    return found


def digits(text: str) -> str:
    return "".join(str(int(char)) for char in text if char.isdecimal())  # ٠١٢ are digits too


def _always(found: str) -> bool:
    return True


def _luhn(found: str) -> bool:
    """The check digit of payment cards (ISO/IEC 7812)."""
    figures = [int(figure) for figure in reversed(digits(found))]
    return 13 <= len(figures) <= 19 and (
        sum(figures[::2]) + sum(sum(divmod(2 * figure, 10)) for figure in figures[1::2])
    ) % 10 == 0  # fmt: skip


def _iban(found: str) -> bool:
    """ISO 13616: the first four characters go to the end, letters are numbers, and the rest by 97 is one."""
    plain = re.sub(r"\s", "", found).upper()
    if not plain.isascii():  # upper case of ı and the Kelvin sign are other letters
        return False
    return int("".join(str(int(char, 36)) for char in plain[4:] + plain[:4])) % 97 == 1


def _ipv4(found: str) -> bool:
    return all(int(part) < 256 for part in found.split("."))


def _phone(found: str) -> bool:
    """Seven to fifteen digits; not a span of years, not a date, not a sum of thousands."""
    count = len(digits(found))
    years = re.fullmatch(r"(?:19|20)\d\d\s?[-–/]\s?(?:19|20)\d\d", found)
    date = re.fullmatch(r"\d{1,4}[-./]\d{1,2}[-./]\d{1,4}", found)
    thousands = re.fullmatch(r"\d{1,3}(?:[ .]\d00|[ .]000)+", found)
    return 7 <= count <= 15 and not (years or date or thousands)


# In this order: what a form takes, a later one does not see.
_FORMS: tuple[tuple[str, re.Pattern[str], Callable[[str], bool]], ...] = tuple(
    (name, re.compile(form, re.IGNORECASE), holds)
    for name, form, holds in (
        ("e-mail", rf"{_FRESH}[\w.+-]{{1,64}}@[\w-]{{1,63}}(?:\.[\w-]{{1,63}}){{1,8}}", _always),
        ("e-mail", rf"{_FRESH}[\w.+-]{{1,64}} ?(?:\[at\]|\(at\)) ?[\w-]{{1,63}} ?(?:\.|\[dot\]|\(dot\)) ?\w{{1,63}}", _always),  # noqa: E501
        ("link", r"\b(?:(?:https?|ftp)://|www\.)\S{1,2000}(?<=[\w/])", _always),
        ("link", rf"{_FRESH}(?:[\w-]{{1,63}}\.){{1,8}}(?:com|org|net|edu|gov|io|me|co|app|dev|info)\b(?:/\S{{0,2000}}\b)?(?!@)", _always),  # noqa: E501
        ("account", r"\b[a-z]{2}\d{2}(?: ?[a-z0-9]{4}){2,7}(?: ?[a-z0-9]{1,4})?\b", _iban),
        ("card", rf"(?<!\w)\d(?:[ -]?\d){{12,18}}{_NUMBER_ENDS}", _luhn),
        ("social security number", rf"(?<!\w)\d{{3}}-\d{{2}}-\d{{4}}{_NUMBER_ENDS}", _always),
        ("IP address", r"(?<![\w.])\d{1,3}(?:\.\d{1,3}){3}(?![\w.]*\d)", _ipv4),
        ("IP address", r"(?<![\w:])(?:[0-9a-f]{1,4}:){3,7}[0-9a-f]{1,4}(?![\w:])|(?<![\w:])(?:[0-9a-f]{1,4}:){1,6}:[0-9a-f]{1,4}\b", _always),  # noqa: E501
        ("address", rf"\b\d{{1,5}}[a-z]? (?:[\w'.]{{1,30}} ){{1,3}}(?:{_STREET})\b\.?(?:,? (?:apt|apartment|flat|unit|suite|#)\.? ?\w+)?", _always),  # noqa: E501
        ("address", r"\d{1,4}\s+شارع(?:\s+\w+){1,3}|شارع(?:\s+[^\W\d]+){1,3}[\s،,]+(?:رقم\s+)?\d{1,4}", _always),
        ("phone", rf"(?<![\w.,])(?:\+|00)?\(?\d(?:[\s().–-]{{0,2}}\d){{6,14}}{_NUMBER_ENDS}", _phone),
    )
)  # fmt: skip

# Only where someone gives a name: any other capital may begin a sentence, and Arabic has none.
_NAMED = re.compile(
    r"((?i:\bmy (?:full |first |last |real )?name(?:['’]s| is)|\b(?:they|people|friends) call me) |\bاسمي )"
    r"(?!(?i:not|a|an|the|on|in|all|also|so|just|too|no|as|being|never|called)\b)"
    r"(?:[A-Z][\w'’-]*(?: [A-Z][\w'’-]*){0,3}|[^\W\d_]+)"
)
