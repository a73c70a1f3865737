"""Small GGUF files, written and read with the format's own library."""

from pathlib import Path
from typing import Any

import gguf
import numpy as np
from numpy.typing import NDArray

Tensors = dict[str, NDArray[np.float32]]


def write(to: Path, tensors: Tensors, kind: str, fields: dict[str, Any]) -> Path:
    writer = gguf.GGUFWriter(str(to), "llama")
    for name, value in fields.items():
        if isinstance(value, list):
            writer.add_array(name, value)
        elif isinstance(value, float):
            writer.add_float32(name, value)
        else:
            {str: writer.add_string, int: writer.add_uint32}[type(value)](name, value)
    chosen = gguf.GGMLQuantizationType[kind]
    for name, rows in tensors.items():
        writer.add_tensor(name, gguf.quants.quantize(rows, chosen), raw_dtype=chosen)
    writer.write_header_to_file()
    writer.write_kv_data_to_file()
    writer.write_tensors_to_file()
    writer.close()
    return to


def read(path: Path) -> tuple[dict[str, Any], Tensors]:
    found = gguf.GGUFReader(str(path))
    fields = {name: field.contents() for name, field in found.fields.items() if not name.startswith("GGUF.")}
    return fields, {one.name: gguf.quants.dequantize(one.data, one.tensor_type) for one in found.tensors}
