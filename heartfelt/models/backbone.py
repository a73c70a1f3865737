"""Pretrained text encoders: any checkpoint of the hub, a folder, or a GGUF file, as tokens in and states out."""

import tempfile
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import torch
from transformers import (
    AutoConfig,
    AutoModel,
    AutoModelForCausalLM,
    AutoTokenizer,
    PretrainedConfig,
    PreTrainedModel,
)
from transformers import PreTrainedTokenizerBase as Tokenizer

from heartfelt.errors import MissingData, need
from heartfelt.models import weights


def load_tokenizer(checkpoint: str) -> Tokenizer:
    tokenizer: Tokenizer = _from(AutoTokenizer, checkpoint)
    tokenizer.truncation_side = "left"  # of a long conversation, the end matters most
    if tokenizer.pad_token is None:
        tokenizer.pad_token = tokenizer.eos_token
    return tokenizer


def saved_tokenizer(folder: Path, **given: Any) -> Tokenizer:
    """The tokenizer that lies beside a model of ours. transformers does not know the model's type, and would warn."""
    tokenizer: Tokenizer = AutoTokenizer.from_pretrained(folder, config=PretrainedConfig(), **given)
    return tokenizer


def load_encoder(checkpoint: str) -> PreTrainedModel:
    """The checkpoint without its language-model head, in fp32."""
    model: PreTrainedModel = _from(AutoModel, checkpoint)
    return model.float()


def load_language_model(checkpoint: str, with_room: Sequence[str] = ()) -> PreTrainedModel:
    """The checkpoint with its language-model head, in fp32.

    with_room: types that are made decoders with cross-attention, which is drawn at random.
    """
    config = _from(AutoConfig, checkpoint)
    if config.model_type in with_room:
        config.is_decoder = config.add_cross_attention = True
    model: PreTrainedModel = _from(AutoModelForCausalLM, checkpoint, config=config)
    return model.float()


def empty_encoder(config: dict[str, Any] | None) -> PreTrainedModel:
    """An encoder of this shape without weights, and without BERT's pooler: we pool ourselves, and parameters that get
    no gradient stop distributed training."""
    settings = dict(config or {})
    encoder = AutoModel.from_config(AutoConfig.for_model(settings.pop("model_type"), **settings))
    if getattr(encoder, "pooler", None) is not None:
        encoder.pooler = None
    return encoder


def copy_weights(pretrained: PreTrainedModel, encoder: PreTrainedModel) -> None:
    states = {
        name: tensor for name, tensor in pretrained.state_dict().items() if not name.startswith("pooler.")
    }
    encoder.load_state_dict(states)


def add_adapters(encoder: PreTrainedModel, rank: int, alpha: int) -> None:
    """LoRA (Hu et al. 2021) on every linear layer, which learn in the encoder's place."""
    peft = need("peft", "train", "LoRA")
    adapters = peft.LoraConfig(r=rank, lora_alpha=alpha, target_modules="all-linear")
    peft.inject_adapter_in_model(adapters, encoder)
    for name, parameter in encoder.named_parameters():
        parameter.requires_grad_("lora_" in name)


def set_dropout(config: PretrainedConfig, share: float | None) -> None:
    """Inside the encoder, whatever its kind calls it; as the checkpoint has it where None."""
    if share is not None:
        for name in ("hidden_dropout_prob", "attention_probs_dropout_prob", "attention_dropout", "dropout"):
            if hasattr(config, name):
                setattr(config, name, share)


def merge_adapters(model: torch.nn.Module) -> None:
    """Into the weights below, which has less to compute; for reading alone."""
    for layer in model.modules():
        if hasattr(layer, "lora_A"):
            layer.merge()  # type: ignore[operator]


def separator(tokenizer: Tokenizer) -> str:
    """What stands between turns: [SEP] or </s> where the checkpoint knows one, a new line elsewhere."""
    return f" {tokenizer.sep_token} " if tokenizer.sep_token else "\n"


def _from(kind: Any, checkpoint: str, **given: Any) -> Any:
    place = weights.find(checkpoint)
    try:
        return kind.from_pretrained(_unpacked(Path(place)) if Path(place).is_dir() else place, **given)
    except OSError as problem:
        if Path(place).is_dir():
            raise MissingData(
                f"The checkpoint at {place} cannot be loaded: {str(problem).splitlines()[0]}"
            ) from None
        raise MissingData(
            f"The checkpoint '{checkpoint}' is neither a folder nor reachable on the model hub. Offline there are: "
            f"{', '.join(weights.WEIGHTS)} (heartfelt models pull NAME)"
        ) from None


def _unpacked(folder: Path) -> Path:
    """A folder that transformers loads at once: a GGUF file is turned into fp32 safetensors, once."""
    files = sorted(folder.glob("*.gguf"))
    if not files or (folder / "config.json").exists():
        return folder
    fp32 = folder / "fp32"
    if not fp32.is_dir():
        loaded = AutoModelForCausalLM.from_pretrained(folder, gguf_file=files[0].name, dtype=torch.float32)
        # A GGUF-loaded model refuses save_pretrained; one built from its config, with its states, does not.
        del loaded.config.quantization_config
        model = AutoModelForCausalLM.from_config(loaded.config)
        model.load_state_dict(loaded.state_dict())
        with tempfile.TemporaryDirectory(dir=folder) as scratch:
            whole = Path(scratch) / "fp32"
            model.save_pretrained(whole)
            AutoTokenizer.from_pretrained(folder, gguf_file=files[0].name).save_pretrained(whole)
            whole.rename(fp32)
    return fp32
