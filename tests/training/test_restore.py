"""A run again from its adapter."""

from pathlib import Path

import pytest

from heartfelt.errors import BadData, InvalidValue
from heartfelt.recipe import Recipe


def test_what_an_adapter_says_its_restored_run_says(tiny_llama: Path, tmp_path: Path) -> None:
    import torch

    from heartfelt.models import listener_lm as lm
    from heartfelt.training.adapter import write_adapter
    from heartfelt.training.restore import restore

    settings = {"checkpoint": str(tiny_llama), "lora_rank": 4, "lora_alpha": 8}
    model, _ = lm.build(lm.Settings(**settings))
    torch.manual_seed(0)
    for name, parameter in model.named_parameters():
        if "lora_B" in name:
            torch.nn.init.normal_(parameter)
    adapter = write_adapter(model, tmp_path / "adapter.gguf")
    run = restore(adapter, Recipe(task="replies", model="listener_lm", settings=settings), tmp_path / "run")
    again = lm.load(run.folder / "model")
    ours, theirs = model.state_dict(), again.state_dict()
    assert set(ours) == set(theirs)
    for name, weights in ours.items():  # eight bits lose about a 250th of a block's largest number at most
        assert (weights - theirs[name]).abs().max() <= weights.abs().max() / 200, name
    assert all(weights.any() for name, weights in theirs.items() if "lora_B" in name)
    assert run.results is not None and run.results["scores"] == {}  # what it scores is for others to measure


@pytest.mark.parametrize("wrong", [{"lora_rank": 2}, {"lora_alpha": 16}])
def test_an_adapter_of_another_size_is_refused_and_nothing_written(
    wrong: dict[str, int], tiny_llama: Path, tmp_path: Path
) -> None:
    from heartfelt.models import listener_lm as lm
    from heartfelt.training.adapter import write_adapter
    from heartfelt.training.restore import restore

    settings = {"checkpoint": str(tiny_llama), "lora_rank": 4, "lora_alpha": 8}
    adapter = write_adapter(lm.build(lm.Settings(**settings))[0], tmp_path / "adapter.gguf")
    with pytest.raises(InvalidValue, match="adapter"):
        restore(
            adapter, Recipe(task="replies", model="listener_lm", settings=settings | wrong), tmp_path / "run"
        )
    assert not (tmp_path / "run").exists()


def test_what_a_retrieval_run_has_learned_is_one_small_file(tiny_bert: Path, tmp_path: Path) -> None:
    import torch

    from heartfelt.models import encoder_matcher as em
    from heartfelt.training.matcher_adapter import write_learned
    from heartfelt.training.restore import restore

    settings = {"checkpoint": str(tiny_bert), "lora_rank": 4, "lora_alpha": 8, "heads": ["emotion"]}
    model, _ = em.build(em.Settings(**settings), {"emotion": 2}, [])
    torch.manual_seed(0)
    for name, parameter in model.named_parameters():
        assert parameter.requires_grad == (not name.startswith("encoder.") or "lora_" in name)
        if parameter.requires_grad:
            torch.nn.init.normal_(parameter)
    labels = {"emotion": ("sad", "glad")}
    model.save_pretrained(tmp_path / "model")
    adapter = write_learned(em.load(tmp_path / "model"), labels, tmp_path / "adapter.safetensors")
    learned = sum(p.numel() for p in model.parameters() if p.requires_grad)
    assert 2 * learned < adapter.stat().st_size < 2 * learned + 8000, "and not what was frozen"
    recipe = Recipe(task="pairs", model="encoder_matcher", settings=settings)
    run = restore(adapter, recipe, tmp_path / "run")
    ids = torch.tensor([[2, 7, 9, 3]])
    vectors = [
        one.eval().contexts(ids, torch.ones_like(ids)) for one in (model, em.load(run.folder / "model"))
    ]
    assert torch.allclose(*vectors, atol=0.01) and run.labels == {"emotion": ["sad", "glad"]}
    for wrong in ({"lora_rank": 2}, {"lora_alpha": 16}):
        other = Recipe(task="pairs", model="encoder_matcher", settings=settings | wrong)
        with pytest.raises(InvalidValue, match="adapter"):
            restore(adapter, other, tmp_path / "other")
    with pytest.raises(InvalidValue, match="one file that ends in"):
        write_learned(model, labels, tmp_path / "adapter.gguf")
    (tmp_path / "broken.safetensors").write_text("no weights")
    with pytest.raises(BadData, match="cannot be read"):
        restore(tmp_path / "broken.safetensors", recipe, tmp_path / "other")
    assert not (tmp_path / "other").exists()
