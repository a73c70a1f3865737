"""How a server is set up; `heartfelt serve` fills it from its options."""

import msgspec

BODY_LIMIT = 256 * 1024  # bytes of a request: a talk of some hundred turns


class ServeSettings(msgspec.Struct, frozen=True):
    keys: tuple[str, ...] = ()  # bearer keys, one of which a request must carry; none: everybody may ask
    at_once: int = 4  # replies written side by side
    waiting: int = 32  # requests that may wait for their turn; after them, 429
    seconds: float = 60.0  # for a request, waiting included
    body_limit: int = BODY_LIMIT
    origins: tuple[str, ...] = ()  # web pages elsewhere that may ask (CORS); none
    sessions: str | None = None  # a database's URL, where conversations are stored; None: nothing is
    keep_days: float = 30.0  # conversations that nobody has gone on with for so long are deleted
    locale: str | None = None  # where people are, for the page's helplines
    page: bool = True
