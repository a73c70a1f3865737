"""A trained encoder as ONNX: calibrated on valid, quantised to int8, checked against torch."""

import tempfile
from pathlib import Path
from typing import Any

import msgspec
import numpy as np
import torch

from heartfelt.agent.encoder import Card, Encoder
from heartfelt.agent.guard import DOUBTFUL
from heartfelt.agent.listen import CALM, WINDOW, crisis
from heartfelt.errors import InvalidValue, need
from heartfelt.files import sha256, writing
from heartfelt.models import MATCHERS, module_of
from heartfelt.models.backbone import saved_tokenizer, separator
from heartfelt.models.encoder_classifier import EncoderClassifier
from heartfelt.models.encoder_matcher import EncoderMatcher
from heartfelt.recipe import fill
from heartfelt.training.balance import best_balance
from heartfelt.training.calibration import best_temperature, temperatures
from heartfelt.training.crisis import speakers, told_outright
from heartfelt.training.predictions import load
from heartfelt.training.run import Run

# Of ED valid's speaker turns, by patterns and ear together: a little less than the .005 allowed. A tenth of a percent
# less costs two crises in a hundred (docs/log.md), and a helpline too many costs a line of text.
FALSE_ALARMS = 0.0045


def export(run: Run, to: Path, data: Path | None = None, int8: bool = True) -> Path:
    """Write encoder.onnx, tokenizer.json and encoder.json for a finished run of an encoder with heads."""
    recipe = run.recipe
    if recipe.model not in _TRACED or run.results is None:
        raise InvalidValue(f"{run.folder} is not a finished run of {' or '.join(_TRACED)}")
    if not run.labels or not recipe.settings.get("shared", True):
        raise InvalidValue(
            f"{run.folder} has no labels (settings.heads), or two encoders: it cannot be exported"
        )
    module = module_of(recipe.model)
    settings: Any = fill(module.Settings, recipe.settings)[0]
    if recipe.model in MATCHERS and (settings.window != WINDOW or not settings.normal):
        raise InvalidValue(f"{run.folder}: to be exported takes settings.window {WINDOW} and settings.normal")
    model = module.load(run.folder / "model").eval()
    tokenizer = saved_tokenizer(run.folder / "model")
    to.mkdir(parents=True, exist_ok=True)
    with tempfile.TemporaryDirectory(dir=to) as name:
        scratch = Path(name)
        _onnx(_TRACED[recipe.model](model).eval(), scratch, int8).rename(scratch / "encoder.onnx")
        tokenizer.backend_tokenizer.save(str(scratch / "tokenizer.json"))
        card = Card(
            heads={head: tuple(labels) for head, labels in run.labels.items()},
            temperatures=temperatures(run, data),
            separator=separator(tokenizer),
            suffix=getattr(settings, "suffix", ""),
            max_tokens=settings.max_tokens,
            pad_id=int(tokenizer.pad_token_id),
            sha256=sha256(scratch / "encoder.onnx"),
            balance=balances(run, data),
        )
        _write(card, scratch)
        if "crisis" in card.heads:
            thresholds = {"crisis": crisis_threshold(Encoder(scratch), data)}
            _write(msgspec.structs.replace(card, thresholds=thresholds), scratch)
        for part in ("encoder.onnx", "tokenizer.json", "encoder.json"):  # the card last: it tells what is new
            (scratch / part).replace(to / part)
    return to


def _write(card: Card, to: Path) -> None:
    with writing(to / "encoder.json", "wb") as file:
        file.write(msgspec.json.format(msgspec.json.encode(card), indent=2))


def balances(run: Run, data: Path | None) -> dict[str, tuple[float, ...]]:
    """For the head "plan": what its chances are multiplied by where rare labels should count, as valid likes best."""
    found = {}
    for head in load(run, "valid", data).heads():
        if head.name == "plan":
            cooled = head.logits / best_temperature(head.logits, head.gold)
            balance = best_balance(cooled, head.gold)
            times = np.exp(-balance.power * balance.log_prior)
            found[head.name] = tuple(round(float(one), 4) for one in times / times.min())
    return found


def crisis_threshold(encoder: Encoder, data: Path | None) -> float:
    """The lowest chance of a crisis that raises few enough false alarms among ED valid's speakers."""
    said = [text for _, text in speakers("valid", data)]
    heard = [crisis(encoder, text) for text in said]
    chances = np.array([one.chance for one in heard])
    outright = [told_outright(text) for text in said]
    # As the guard does: a sure ear takes back what only sounds like abuse or danger.
    alarms = np.array(
        [bool(reasons) and not (one.most < CALM and DOUBTFUL.issuperset(reasons))
         for reasons, one in zip(outright, heard, strict=True)]
    )  # fmt: skip
    allowed = max(0, int(FALSE_ALARMS * len(said)) - int(alarms.sum()))
    threshold = round(float(np.sort(chances[~alarms])[-allowed - 1]) + 1e-4, 4)
    if threshold >= 1:
        raise InvalidValue(
            f"The crisis head is sure of more than {allowed} of {len(said):,} messages that are none: train it longer"
        )
    return threshold


class _Classifier(torch.nn.Module):
    """What the ONNX file computes: tokens in, logits and vector out."""

    outputs = ("logits", "vector")

    def __init__(self, model: EncoderClassifier) -> None:
        super().__init__()
        self.model = model

    def forward(
        self, input_ids: torch.Tensor, attention_mask: torch.Tensor
    ) -> tuple[torch.Tensor, torch.Tensor]:
        vector = self.model.vector(input_ids, attention_mask)
        return self.model.heads(vector), vector


class _Matcher(torch.nn.Module):
    """Tokens in, logits out, and where the text lies as a context and as a reply."""

    outputs = ("logits", "context", "reply")

    def __init__(self, model: EncoderMatcher) -> None:
        super().__init__()
        self.model = model

    def forward(self, input_ids: torch.Tensor, attention_mask: torch.Tensor) -> tuple[torch.Tensor, ...]:
        read = self.model.read_context(input_ids, attention_mask)
        assert self.model.heads is not None
        return self.model.heads(read), self.model.place_context(read), self.model.place_reply(read)


_TRACED: dict[str, Any] = {
    "encoder_classifier": _Classifier,
    "encoder_matcher": _Matcher,
    "late_matcher": _Matcher,  # its vectors; words are for torch
}


def _onnx(traced: Any, scratch: Path, int8: bool) -> Path:
    need("onnxscript", "train", "Exporting to ONNX")
    # Two tensors: given one and the same for both inputs, the exporter takes them to be one input.
    ids, mask = torch.ones((2, 8), dtype=torch.long), torch.ones((2, 8), dtype=torch.long)
    shape = {0: torch.export.Dim("batch"), 1: torch.export.Dim("tokens")}
    program = torch.onnx.export(
        traced, (ids, mask), dynamo=True, verbose=False, input_names=["input_ids", "attention_mask"],
        output_names=list(traced.outputs), dynamic_shapes={"input_ids": shape, "attention_mask": shape},
    )  # fmt: skip
    assert program is not None
    path = scratch / "fp32.onnx"
    program.save(str(path))
    if not int8:
        return path
    onnx = need("onnx", "train", "Exporting to ONNX")
    quantization = need("onnxruntime.quantization", "train", "Quantising")
    graph = onnx.load(str(path))
    del graph.graph.value_info[:]  # the exporter's own shapes, which the quantiser takes amiss
    onnx.save(graph, str(path))
    # In seven bits: on processors without VNNI the products of eight overflow.
    quantization.quantize_dynamic(path, scratch / "int8.onnx", per_channel=True, reduce_range=True)
    return scratch / "int8.onnx"
