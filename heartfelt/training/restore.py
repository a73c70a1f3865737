"""A finished run again, from what ships: to score it, or to learn on from it, where the run's folder is gone."""

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from heartfelt.agent.encoder import read_card
from heartfelt.errors import InvalidValue, need
from heartfelt.files import sha256
from heartfelt.models import listener_lm, module_of
from heartfelt.models.merge import floats, read_gguf
from heartfelt.recipe import Recipe, fill
from heartfelt.training.adapter import places, side_by_side
from heartfelt.training.matcher_adapter import SUFFIX, read_labels, read_learned
from heartfelt.training.run import Run, environment, open_run

ONNX = "encoder.onnx"


def restore(shipped: Path, recipe: Recipe, folder: Path) -> Run:
    """The run folder of a language model from its adapter (.gguf), of a retrieval model from its own (.safetensors), or
    of an encoder from its export (a folder with encoder.onnx), and a recipe with its settings. It has no scores."""
    settings: Any = fill(module_of(recipe.model).Settings, recipe.settings)[0]
    labels: dict[str, tuple[str, ...]] = {}
    if shipped.is_dir():
        if recipe.model not in ("encoder_classifier", "encoder_matcher"):
            raise InvalidValue(
                f"an exported encoder is not of {recipe.model}, which this recipe trains"
                if recipe.model != "late_matcher"
                else "of a late_matcher its vectors are exported, and not its words: take a recipe of encoder_matcher"
            )
        labels = read_card(shipped).heads
        model, tokenizer = module_of(recipe.model).build(settings, _classes(labels), [])
        read_encoder(shipped / ONNX, model)
    elif shipped.suffix == SUFFIX:
        if recipe.model != "encoder_matcher":
            raise InvalidValue(f"{shipped} is of encoder_matcher; this recipe trains {recipe.model}")
        labels = read_labels(shipped)
        model, tokenizer = module_of(recipe.model).build(settings, _classes(labels), [])
        read_learned(shipped, model)
    else:
        if recipe.model != "listener_lm":
            raise InvalidValue(f"an adapter is of listener_lm; this recipe trains {recipe.model}")
        model, tokenizer = listener_lm.build(settings)
        read_adapter(shipped, model)
    run = open_run(folder, recipe)
    model.save_pretrained(folder / "model")
    tokenizer.save_pretrained(folder / "model")
    if labels:
        run.write("labels.json", {head: list(names) for head, names in labels.items()})
    made_of = shipped / ONNX if shipped.is_dir() else shipped
    run.write(
        "results.json",
        {
            "task": recipe.task, "model": recipe.model, "scores": {}, "restored": sha256(made_of)[:12],
            "parameters": sum(p.numel() for p in model.parameters()), "minutes": 0.0, "items": {},
            "recipe": recipe.hash(), "data": "", "environment": environment(),
        },
    )  # fmt: skip
    return run


def _classes(labels: Mapping[str, Sequence[str]]) -> dict[str, int]:
    return {head: len(names) for head, names in labels.items()}


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


def read_encoder(path: Path, model: Any) -> None:
    """Give a model the weights of its ONNX file, as `export` wrote it: in eight bits, to a 250th or so."""
    import torch

    found = {name: torch.from_numpy(array.copy()) for name, array in _weights(path).items()}
    here = {name: tensor for name, tensor in model.state_dict().items() if "position_ids" not in name}
    # What an encoder has and export does not use, such as BERT's pooler, stays as it is.
    if missing := [name for name in found if name not in here or here[name].shape != found[name].shape]:
        raise InvalidValue(f"{path} is of another model, or of other settings: {missing[0]}")
    if missing := [name for name in here if name not in found and "pooler" not in name]:
        raise InvalidValue(f"{path} lacks {missing[0]}, which this recipe's model has")
    model.load_state_dict(found, strict=False)


def _weights(path: Path) -> dict[str, NDArray[Any]]:
    """A parameter's name → its numbers. A product's weights are known by the bias that is added after it."""
    onnx = need("onnx", "train", "Reading an exported encoder")
    graph = onnx.load(str(path)).graph
    arrays = {one.name: onnx.numpy_helper.to_array(one) for one in graph.initializer}
    readers: dict[str, Any] = {name: node for node in graph.node for name in node.input}
    found = {_name(name): array for name, array in arrays.items() if name.startswith("model.")}
    for node in graph.node:
        if node.op_type not in ("MatMulInteger", "MatMul", "Gather"):
            continue
        weight = next((name for name in node.input if name in arrays), None)
        if weight is None:
            continue
        product = node.op_type != "Gather"
        name = weight.removesuffix("_quantized")
        if product and not name.startswith("model."):
            name = _bias_after(node, readers, arrays).removesuffix("bias") + "weight"
        numbers = arrays[weight]
        if weight.endswith("_quantized"):
            scale, zero = (
                arrays[weight.removesuffix("quantized") + part] for part in ("scale", "zero_point")
            )
            numbers = (numbers.astype(np.float32) - zero.astype(np.float32)) * scale
        if name.startswith("model."):
            found[_name(name)] = np.ascontiguousarray(numbers.T if product else numbers, np.float32)
    return {name: array for name, array in found.items() if name.endswith((".weight", ".bias"))}


def _bias_after(node: Any, readers: dict[str, Any], arrays: dict[str, NDArray[Any]]) -> str:
    while node.op_type != "Add" and node.output[0] in readers:
        node = readers[node.output[0]]
    return next((name for name in node.input if name in arrays), "")


def _name(name: str) -> str:
    return name.removeprefix("model.")
