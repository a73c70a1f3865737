"""Models: one model, one file, top to bottom. Config, bricks, whole; shapes in comments.

A classifier's file has `Settings`, its part of a recipe, and either
    build(settings, classes, texts) → (model, tokenizer)    a PreTrainedModel that learns by gradient, or
    fit(settings, texts, labels, classes) → Fitted          one that is counted in one go
and `load(folder)` for what either has saved. `classes` is the number of labels (of each head); `texts` are those of
the train split.

A model that learns by gradient reads one text, turn after turn, cut at `settings.max_tokens`. One that reads more of a
conversation says so in its file:
    encode(settings, tokenizer, turns) → {"input_ids": …, …}   lists with a number a token, of the Turns before a reply
Batches pad each list, and the model's forward is handed each by its name.
"""

import importlib
from types import ModuleType

from heartfelt.errors import MissingExtra, UnknownName

# name in recipes → file
MODELS: dict[str, str] = {
    "majority": "heartfelt.models.majority",
    "naive_bayes": "heartfelt.models.naive_bayes",
    "fasttext": "heartfelt.models.fasttext",
    "listener_lm": "heartfelt.models.listener_lm",
    "encoder_classifier": "heartfelt.models.encoder_classifier",
    "layer_attentive": "heartfelt.models.layer_attentive",
    "bilstm_classifier": "heartfelt.models.bilstm_classifier",
    "meed2_planner": "heartfelt.models.meed2_planner",
    "transformer_matcher": "heartfelt.models.transformer_matcher",
    "encoder_matcher": "heartfelt.models.encoder_matcher",
    "late_matcher": "heartfelt.models.late_matcher",
    "cross_encoder": "heartfelt.models.cross_encoder",
    "jury": "heartfelt.models.jury",
    "bilstm_seq2seq": "heartfelt.models.bilstm_seq2seq",
    "transformer_generator": "heartfelt.models.transformer_generator",
    "moel": "heartfelt.models.moel",
    "joint_gru": "heartfelt.models.joint_gru",
    "meed2": "heartfelt.models.meed2",
    "encoder_decoder": "heartfelt.models.encoder_decoder",
}

MATCHERS = (
    "transformer_matcher",
    "encoder_matcher",
    "late_matcher",
)  # of these, those that tell which reply fits, by two vectors
RERANKERS = ("cross_encoder", "jury", "late_matcher")  # and by comparing more of context and reply
GENERATORS = (
    "bilstm_seq2seq",
    "transformer_generator",
    "moel",
    "joint_gru",
    "meed2",
    "encoder_decoder",
)  # those that write replies


def module_of(name: str) -> ModuleType:
    if name not in MODELS:
        raise UnknownName("model", name, MODELS)
    try:
        return importlib.import_module(MODELS[name])
    except ModuleNotFoundError as missing:
        raise MissingExtra(
            f"The model {name} needs '{missing.name}', which is not installed: pip install 'heartfelt[train]'"
        ) from None
