"""What a retrieval run with adapters has learned, as one small file over pretrained weights that others carry."""

import json
import tempfile
from pathlib import Path
from typing import TYPE_CHECKING

from heartfelt.errors import BadData, InvalidValue
from heartfelt.models.encoder_matcher import EncoderMatcher, load
from heartfelt.training.run import Run

if TYPE_CHECKING:
    from torch import Tensor

Labels = dict[str, tuple[str, ...]]
SUFFIX = ".safetensors"


def export_matcher(run: Run, to: Path) -> Path:
    """Write a finished LoRA run of encoder_matcher as one file: adapters, projections and heads, in half precision."""
    if run.recipe.model != "encoder_matcher" or run.results is None:
        raise InvalidValue(f"{run.folder} is not a finished run of encoder_matcher")
    labels = run.labels if (run.folder / "labels.json").is_file() else {}
    return write_learned(load(run.folder / "model"), {h: tuple(names) for h, names in labels.items()}, to)


def write_learned(model: EncoderMatcher, labels: Labels, to: Path) -> Path:
    from safetensors.torch import save_file

    if to.suffix != SUFFIX or to.is_dir():
        raise InvalidValue(f"an adapter of a retrieval run is one file that ends in {SUFFIX}, not {to}")
    if not model.config.lora_rank:
        raise InvalidValue("an adapter is of a run with settings.lora_rank; here all weights have learned")
    learned = {name: weights.detach().half().contiguous() for name, weights in _learned(model).items()}
    told = {"lora_alpha": str(model.config.lora_alpha), "labels": json.dumps(labels)}
    to.parent.mkdir(parents=True, exist_ok=True)
    with tempfile.TemporaryDirectory(dir=to.parent, prefix=f".{to.name}.") as scratch:
        part = Path(scratch) / to.name
        save_file(learned, part, told)
        return part.replace(to)


def _learned(model: EncoderMatcher) -> "dict[str, Tensor]":
    """By name: of a model that was loaded nothing else tells what had been frozen."""
    frozen = ("encoder.", "reply_encoder.", "second.")
    return {n: p for n, p in model.named_parameters() if "lora_" in n or not n.startswith(frozen)}


def read_labels(path: Path) -> Labels:
    return {head: tuple(names) for head, names in json.loads(_told(path)["labels"]).items()}


def read_learned(path: Path, model: EncoderMatcher) -> None:
    """Give a model what `write_learned` wrote."""
    from safetensors.torch import load_file

    if _told(path)["lora_alpha"] != str(model.config.lora_alpha):
        raise InvalidValue(f"{path} is not an adapter with settings.lora_alpha {model.config.lora_alpha}")
    found = {name: weights.float() for name, weights in load_file(path).items()}
    own = _learned(model)
    wrong = [n for n in {**found, **own} if n not in found or n not in own or found[n].shape != own[n].shape]
    if wrong:
        raise InvalidValue(f"{path} is an adapter of another model, or of other settings: {wrong[0]}")
    model.load_state_dict(found, strict=False)


def _told(path: Path) -> dict[str, str]:
    from safetensors import SafetensorError, safe_open

    try:
        with safe_open(path, "pt") as file:
            told: dict[str, str] = file.metadata() or {}
    except SafetensorError as problem:
        raise BadData(f"{path} cannot be read as safetensors: {problem}") from None
    if not {"lora_alpha", "labels"} <= told.keys():
        raise BadData(f"{path} is no adapter that heartfelt runs export has written")
    return told
