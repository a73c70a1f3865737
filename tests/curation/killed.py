"""A run of curation that kills itself (SIGKILL) while a stage's second file is about to appear under its name.

`python -m tests.curation.killed IN OUT STAGE`; without a stage it runs to its end.
"""

import hashlib
import os
import signal
import sys
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np

from heartfelt.curation import labelling
from heartfelt.curation.pipeline import curate
from heartfelt.curation.stages import Settings
from heartfelt.labels import LABELS

# Every line is a turn: what the shipped segmenter makes of our films is no matter here.
EVERY_LINE = str(Path(__file__).parent / "every_line")
SETTINGS = Settings(min_lines=4, files_a_shard=2, top=0.5, audit=5, segmenter=EVERY_LINE)


def chances(texts: Sequence[str], folder: Path) -> np.ndarray:
    """Stands for the encoder: chances that hang on the text alone."""
    rows = [
        np.frombuffer(hashlib.sha512(text.encode()).digest()[: len(LABELS)], np.uint8) + 1.0 for text in texts
    ]
    table = np.array(rows, np.float32).reshape(len(rows), len(LABELS))
    return table / table.sum(axis=1, keepdims=True)


def kill_in(stage: str) -> None:
    replace, seen = Path.replace, [0]

    def replacing(self: Path, target: Any) -> Path:
        written = Path(target)
        at_work = "work" in written.parts
        here = written.parent.name == stage if at_work else stage == "write" and written.suffix == ".parquet"
        seen[0] += here
        if here and seen[0] == 2:
            os.kill(os.getpid(), signal.SIGKILL)
        return replace(self, target)

    Path.replace = replacing  # type: ignore[assignment, method-assign]


if __name__ == "__main__":
    labelling._chances = chances  # type: ignore[assignment]
    if len(sys.argv) > 3:
        kill_in(sys.argv[3])
    curate([Path(sys.argv[1])], Path(sys.argv[2]), SETTINGS)
