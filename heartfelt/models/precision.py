"""In what products are computed: fp32, or bf16 where $HEARTFELT_PRECISION says so.

Never bf16 by default: on some CPUs AMX dies with "Illegal instruction"; on others it takes half the time.
"""

import os

from heartfelt.errors import UnknownName


def precision() -> str:
    asked = os.environ.get("HEARTFELT_PRECISION") or "fp32"
    if asked not in ("fp32", "bf16"):
        raise UnknownName("precision", asked, ("fp32", "bf16"))
    return asked
