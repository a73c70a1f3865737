"""In what products are computed: fp32, or bf16 where $HEARTFELT_PRECISION says so.

Never bf16 by default: on some CPUs AMX dies with "Illegal instruction"; on others it takes half the time.
"""

import os
from contextlib import AbstractContextManager

from heartfelt.errors import UnknownName, need


def precision() -> str:
    asked = os.environ.get("HEARTFELT_PRECISION") or "fp32"
    if asked not in ("fp32", "bf16"):
        raise UnknownName("precision", asked, ("fp32", "bf16"))
    return asked


def computing() -> AbstractContextManager[None]:
    """For reading with a finished model on a CPU: products in what was asked for, weights as they are."""
    torch = need("torch", "train", "A run folder")
    found: AbstractContextManager[None] = torch.autocast("cpu", torch.bfloat16, enabled=precision() == "bf16")
    return found
