"""A finished run again, from what ships: to score it, or to learn on from it, where the run's folder is gone."""

from pathlib import Path
from typing import Any

from numpy.typing import NDArray

from heartfelt.errors import InvalidValue, need
from heartfelt.files import sha256
from heartfelt.models import listener_lm
from heartfelt.models.merge import floats, read_gguf
from heartfelt.recipe import Recipe, fill
from heartfelt.training.adapter import places, side_by_side
from heartfelt.training.run import Run, environment, open_run


def restore(adapter: Path, recipe: Recipe, folder: Path) -> Run:
    """The run folder of a language model, from its adapter (.gguf) and a recipe with its settings. It has no scores."""
    if recipe.model != "listener_lm":
        raise InvalidValue(f"an adapter is of listener_lm; this recipe trains {recipe.model}")
    settings: Any = fill(listener_lm.Settings, recipe.settings)[0]
    model, tokenizer = listener_lm.build(settings)
    read_adapter(adapter, model)
    run = open_run(folder, recipe)
    model.save_pretrained(folder / "model")
    tokenizer.save_pretrained(folder / "model")
    run.write(
        "results.json",
        {
            "task": recipe.task, "model": recipe.model, "scores": {}, "restored": sha256(adapter)[:12],
            "parameters": sum(p.numel() for p in model.parameters()), "minutes": 0.0, "items": {},
            "recipe": recipe.hash(), "data": "", "environment": environment(),
        },
    )  # fmt: skip
    return run


def read_adapter(path: Path, model: listener_lm.ListenerLM) -> None:
    """Give a model the adapter that `write_adapter` wrote."""
    import torch

    gguf = need("gguf", "train", "Reading an adapter")
    reader = read_gguf(gguf, path)
    alpha = reader.fields.get("adapter.lora.alpha")
    if alpha is None or float(alpha.contents()) != model.config.lora_alpha:
        raise InvalidValue(f"{path} is not an adapter with settings.lora_alpha {model.config.lora_alpha}")
    found: dict[str, NDArray[Any]] = {one.name: floats(gguf, one) for one in reader.tensors}
    for place in places(model):
        tensor = found.pop(place.name, None)
        if tensor is None or tensor.shape != tuple(place.parameter.shape):
            raise InvalidValue(
                f"{path} is an adapter of another model, or of another settings.lora_rank: {place.name}"
            )
        if place.heads:
            tensor = side_by_side(tensor, place.heads)
        place.parameter.data = torch.from_numpy(tensor.copy())
    if found:
        raise InvalidValue(f"{path} is an adapter of a larger model: it has {next(iter(found))}")
