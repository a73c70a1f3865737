"""LoRA adapters of a Llama-like model as a GGUF file, which llama.cpp puts over the base weights."""

import re
import tempfile
from collections.abc import Iterator
from pathlib import Path
from typing import Any, NamedTuple

from numpy.typing import NDArray

from heartfelt.errors import InvalidValue, need
from heartfelt.models import listener_lm
from heartfelt.training.run import Run

# llama.cpp's names for what transformers calls self_attn.q_proj and so on
_NAMES = {
    "self_attn.q_proj": "attn_q", "self_attn.k_proj": "attn_k", "self_attn.v_proj": "attn_v",
    "self_attn.o_proj": "attn_output", "mlp.gate_proj": "ffn_gate", "mlp.up_proj": "ffn_up",
    "mlp.down_proj": "ffn_down",
}  # fmt: skip
_PARAMETER = re.compile(r"layers\.(\d+)\.(.+)\.lora_([AB])\.default\.weight$")


def export_adapter(run: Run, to: Path) -> Path:
    """Write a finished LoRA run of listener_lm as one .gguf file, in eight bits."""
    if run.recipe.model != "listener_lm" or run.results is None:
        raise InvalidValue(f"{run.folder} is not a finished run of listener_lm")
    model = listener_lm.load(run.folder / "model")
    if not model.config.lora_rank:
        raise InvalidValue(
            f"{run.folder} has no adapter: all of its weights learned (settings.lora_rank is 0)"
        )
    return write_adapter(model, to)


def write_adapter(model: listener_lm.ListenerLM, to: Path) -> Path:
    gguf = need("gguf", "train", "Writing an adapter")
    if (kind := model.encoder.config.model_type) != "llama":
        raise InvalidValue(f"adapters are written for Llama-like models, not {kind}")
    if to.is_dir():
        raise InvalidValue(f"{to} is a folder; an adapter is one file, such as {to / 'adapter.gguf'}")
    to.parent.mkdir(parents=True, exist_ok=True)
    with tempfile.TemporaryDirectory(dir=to.parent, prefix=f".{to.name}.") as scratch:
        part = Path(scratch) / to.name
        _write(gguf, gguf.GGUFWriter(str(part), "llama"), model)
        return part.replace(to)


def _write(gguf: Any, writer: Any, model: listener_lm.ListenerLM) -> None:
    writer.add_type("adapter")
    writer.add_string("adapter.type", "lora")
    writer.add_float32("adapter.lora.alpha", float(model.config.lora_alpha))
    for place in places(model):
        tensor = place.parameter.detach().float().numpy()
        if place.heads:
            tensor = interleaved(tensor, place.heads)
        # Eight bits in blocks of 32 with a scale each: half the size, and what is lost is far below the base
        # weights' four bits. Rows that are not made of whole blocks stay in half precision.
        kind = gguf.GGMLQuantizationType.Q8_0 if tensor.shape[-1] % 32 == 0 else gguf.GGMLQuantizationType.F16
        writer.add_tensor(place.name, gguf.quants.quantize(tensor, kind), raw_dtype=kind)
    writer.write_header_to_file()
    writer.write_kv_data_to_file()
    writer.write_tensors_to_file()
    writer.close()


class Place(NamedTuple):
    """An adapter's matrix: what llama.cpp calls it, where it is, and how many heads its rows are of, if they turn."""

    name: str
    parameter: Any
    heads: int


def places(model: listener_lm.ListenerLM) -> Iterator[Place]:
    config = model.encoder.config
    turned = {
        "self_attn.q_proj": config.num_attention_heads,
        "self_attn.k_proj": config.num_key_value_heads,
    }
    for name, parameter in model.encoder.named_parameters():
        if found := _PARAMETER.search(name):
            layer, module, side = found.groups()
            heads = turned.get(module, 0) if side == "B" else 0
            yield Place(f"blk.{layer}.{_NAMES[module]}.weight.lora_{side.lower()}", parameter, heads)


def interleaved(rows: NDArray[Any], heads: int) -> NDArray[Any]:
    """llama.cpp rotates neighbouring rows of a query or key, transformers the two halves of a head: (out, …) → same."""
    out = rows.shape[0]
    return rows.reshape(heads, 2, out // heads // 2, *rows.shape[1:]).swapaxes(1, 2).reshape(rows.shape)


def side_by_side(rows: NDArray[Any], heads: int) -> NDArray[Any]:
    """The other way round: `interleaved` taken back."""
    out = rows.shape[0]
    return rows.reshape(heads, out // heads // 2, 2, *rows.shape[1:]).swapaxes(1, 2).reshape(rows.shape)
