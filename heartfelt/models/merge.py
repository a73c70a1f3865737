"""Base weights and an adapter as one file in eight bits, made once: llama.cpp answers faster with it than with the two.

Four-bit weights with an adapter beside them cost two more products a layer, and llama.cpp's fast products know eight
bits but not these four. What is rounded away is far less than the four bits have lost.
"""

import shutil
import tempfile
from pathlib import Path
from typing import Any

import numpy as np

from heartfelt.errors import BadData, need
from heartfelt.files import sha256
from heartfelt.models.weights import weights_folder

KEPT = 3  # of 145 MB each; what was made longest ago goes first


def merged(base: Path, adapter: Path) -> Path:
    """The file in which both are one: written at the first call, found at every other.

    It lies among the user's weights, under a name that tells what it was made of.
    """
    whole = _place(base, adapter)
    if whole.is_file():
        return whole
    folder = whole.parent
    folder.parent.mkdir(parents=True, exist_ok=True)
    with tempfile.TemporaryDirectory(dir=folder.parent, prefix=".") as scratch:
        part = Path(scratch) / whole.name
        _write(base, adapter, part)
        folder.mkdir(exist_ok=True)
        part.replace(whole)
    made = [path for path in folder.parent.glob("[!.]*/*.gguf") if path != whole]
    for old in sorted(made, key=lambda path: path.stat().st_mtime)[: -(KEPT - 1)]:
        shutil.rmtree(old.parent, ignore_errors=True)
    return whole


def is_merged(base: Path, adapter: Path) -> bool:
    return _place(base, adapter).is_file()


def _place(base: Path, adapter: Path) -> Path:
    made_of = f"{sha256(adapter)[:12]}-{base.stat().st_size}"
    return weights_folder() / "merged" / made_of / f"{base.stem}+{adapter.stem}.gguf"


def _write(base: Path, adapter: Path, to: Path) -> None:
    gguf = need("gguf", "chat", "Merging an adapter")
    eight_bits = gguf.GGMLQuantizationType.Q8_0
    weights, beside = read_gguf(gguf, base), read_gguf(gguf, adapter)
    if "adapter.lora.alpha" not in beside.fields:
        raise BadData(
            f"{adapter} is not an adapter but a model of its own: a server can serve it (--backend URL)"
        )
    alpha = float(beside.fields["adapter.lora.alpha"].contents())
    learned = {tensor.name: floats(gguf, tensor) for tensor in beside.tensors}
    writer = gguf.GGUFWriter(str(to), "llama")
    for name, field in weights.fields.items():
        if not name.startswith("GGUF.") and name != "general.architecture":  # the writer writes these itself
            writer.add_key_value(name, field.contents(), *field.types[:2])
    for tensor in weights.tensors:
        down, up = (learned.pop(f"{tensor.name}.lora_{side}", None) for side in "ab")
        if down is None or up is None:
            writer.add_tensor(tensor.name, tensor.data, raw_dtype=tensor.tensor_type)
        else:  # (rank, in), (out, rank)
            sum_of_both = floats(gguf, tensor) + (up @ down) * np.float32(alpha / len(down))
            writer.add_tensor(
                tensor.name, gguf.quants.quantize(sum_of_both, eight_bits), raw_dtype=eight_bits
            )
    if learned:
        raise BadData(
            f"The adapter {adapter} is for other weights than {base}: they have no {next(iter(learned))}"
        )
    try:
        writer.write_header_to_file()
        writer.write_kv_data_to_file()
        writer.write_tensors_to_file()
    finally:
        writer.close()


def read_gguf(gguf: Any, path: Path) -> Any:
    try:
        return gguf.GGUFReader(str(path))
    except (ValueError, IndexError, KeyError) as problem:
        raise BadData(f"{path} cannot be read as GGUF: {problem}") from None


def floats(gguf: Any, tensor: Any) -> Any:
    return gguf.quants.dequantize(tensor.data, tensor.tensor_type)
