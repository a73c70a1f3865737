"""An adapter as llama.cpp wants it."""

from pathlib import Path

import numpy as np
import pytest

from heartfelt.errors import InvalidValue


def test_rows_of_queries_and_keys_change_from_halves_to_pairs() -> None:
    from heartfelt.training.adapter import interleaved

    # Two heads of four rows: transformers rotates row 0 with 2 and 1 with 3, llama.cpp 0 with 1 and 2 with 3.
    rows = np.arange(8)[:, None] * np.ones((1, 3))
    assert interleaved(rows, 2)[:, 0].tolist() == [0, 2, 1, 3, 4, 6, 5, 7]


def test_the_file_has_every_adapter_in_llama_cpps_names_and_values(tiny_llama: Path, tmp_path: Path) -> None:
    import torch
    from gguf import GGUFReader
    from gguf.quants import dequantize

    from heartfelt.models import listener_lm as lm
    from heartfelt.training.adapter import write_adapter

    model, _ = lm.build(lm.Settings(str(tiny_llama), lora_rank=4, lora_alpha=8))
    torch.manual_seed(0)
    for name, parameter in model.named_parameters():
        if "lora_B" in name:
            torch.nn.init.normal_(parameter)
    path = write_adapter(model, tmp_path / "deep" / "adapter.gguf")
    assert [p.name for p in path.parent.iterdir()] == ["adapter.gguf"]
    with pytest.raises(InvalidValue, match="is a folder; an adapter is one file"):
        write_adapter(model, path.parent)
    reader = GGUFReader(path)
    fields = {name: field.contents() for name, field in reader.fields.items()}
    assert (fields["general.type"], fields["adapter.type"], fields["adapter.lora.alpha"]) == (
        "adapter",
        "lora",
        8.0,
    )
    tensors = {one.name: dequantize(one.data, one.tensor_type) for one in reader.tensors}
    kinds = {one.name: one.tensor_type.name for one in reader.tensors}
    # Rows of 64 numbers are two blocks of eight bits; rows of 4, the rank, are none.
    assert kinds["blk.1.ffn_down.weight.lora_a"] == "Q8_0"
    assert kinds["blk.1.ffn_down.weight.lora_b"] == "F16"
    assert len(tensors) == 2 * 7 * 2  # layers, linear layers of each, two sides
    down = model.encoder.layers[1].mlp.down_proj
    assert np.allclose(
        tensors["blk.1.ffn_down.weight.lora_a"], down.lora_A.default.weight.detach(), atol=1e-3
    )
    assert np.allclose(
        tensors["blk.1.ffn_down.weight.lora_b"], down.lora_B.default.weight.detach(), atol=1e-2
    )
    query = model.encoder.layers[0].self_attn.q_proj.lora_B.default.weight.detach().numpy()
    assert np.allclose(
        tensors["blk.0.attn_q.weight.lora_b"][1], query[8], atol=1e-2
    )  # of 16 rows a head, half is 8


def test_what_has_no_adapter_is_refused(tmp_path: Path) -> None:
    from heartfelt.training.adapter import export_adapter
    from heartfelt.training.run import Run

    (tmp_path / "recipe.yaml").write_text("task: situations\nmodel: majority\n")
    with pytest.raises(InvalidValue, match="not a finished run of listener_lm"):
        export_adapter(Run(tmp_path), tmp_path / "adapter.gguf")
