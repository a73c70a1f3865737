"""What all tests share: where the real corpora and the self-written ones lie."""

import os
from pathlib import Path

import pytest

ROOT = Path(__file__).parent.parent
# Where a number lies in memory must not change what torch's MKL makes of it: some tests compare to the bit.
os.environ.setdefault("MKL_CBWR", "COMPATIBLE")


def _real_data() -> Path | None:
    named = os.environ.get("HEARTFELT_DATA")
    folder = Path(named) if named else ROOT.parent / "shared" / "data"
    return folder if (folder / "empathetic_dialogues" / "train.csv").exists() else None


# Read before `untouched` below hides the variable from the code under test.
_DATA = _real_data()


def skip(reason: str) -> None:
    """For what a user may lack and .ci/run has fetched: there, to skip is to fail."""
    if os.environ.get("HEARTFELT_CI"):
        pytest.fail(f"CI must have this: {reason}")
    pytest.skip(reason)


@pytest.fixture
def data() -> Path:
    """The folder of the real corpora; a test that asks for it is skipped where they are absent."""
    if _DATA is None:
        pytest.skip("needs the real corpora: set HEARTFELT_DATA to a folder laid out as docs/corpora.md says")
    return _DATA


@pytest.fixture
def fixtures() -> Path:
    """A data folder in which every corpus is a few self-written rows in its real format."""
    return Path(__file__).parent / "corpora" / "fixtures"


@pytest.fixture(autouse=True)
def untouched(monkeypatch: pytest.MonkeyPatch, tmp_path_factory: pytest.TempPathFactory) -> None:
    """No test sees the developer's own settings, or writes into their cache."""
    for name in ("HEARTFELT_DATA", "HEARTFELT_KNOWLEDGE"):
        monkeypatch.delenv(name, raising=False)
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path_factory.getbasetemp() / "cache"))


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """Whoever asks for `data` is marked with it, so that `-m 'not data'` leaves them out."""
    for item in items:
        if "data" in getattr(item, "fixturenames", ()):
            item.add_marker(pytest.mark.data)
