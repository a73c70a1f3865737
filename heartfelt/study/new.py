"""A study to begin with: a study file and a few items of our own (examples/), for each kind and both languages."""

from pathlib import Path

from heartfelt.errors import InvalidValue
from heartfelt.files import writing

_EXAMPLES = Path(__file__).parent / "examples"


def new_study(folder: Path, kind: str, language: str = "en") -> Path:
    """Write a study that can be served as it is; returns the path of its study file."""
    path = folder / "study.yaml"
    if path.exists():
        raise InvalidValue(f"{path} is there already; name another folder")
    files = {path: f"{kind}.{language}.yaml"}
    if kind != "collect":
        files[folder / "items.jsonl"] = f"items.{language}.jsonl"
    for target, source in files.items():
        text = (_EXAMPLES / source).read_text(encoding="utf-8")
        with writing(target) as file:
            file.write(text.replace("NAME", folder.resolve().name))
    return path
