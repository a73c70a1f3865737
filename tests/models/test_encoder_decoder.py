"""Warm-started encoder-decoders: the very path of bert-base, roberta-base + gpt2 and SmolLM2, with tiny checkpoints."""

from pathlib import Path
from typing import Any

import pytest

torch = pytest.importorskip("torch", reason="needs torch: pip install 'heartfelt[train]'")

from tokenizers import Tokenizer, decoders, models, pre_tokenizers, processors, trainers
from transformers import (
    BertConfig,
    BertForMaskedLM,
    GPT2Config,
    GPT2LMHeadModel,
    LlamaConfig,
    LlamaForCausalLM,
    PreTrainedTokenizerFast,
    RobertaConfig,
    RobertaModel,
)  # fmt: skip

from heartfelt.dialogue import Turn
from heartfelt.errors import InvalidValue
from heartfelt.models import encoder_decoder
from heartfelt.models.answerer import encode_pair, in_batch
from heartfelt.models.crossing import Opened
from heartfelt.models.two_tokenizers import TwoTokenizers, open_tokenizer
from tests.models.test_generators import ANSWERED, SAID, read

CONCEPTS = (
    "dog <is a> pet",
    "",
    "cat <desires> milk; ill <related to> doctor",
    "house <used for> living",
) * 2


def _words(folder: Path, special: dict[str, str], template: tuple[str, str] | None) -> int:
    """A byte-level tokenizer of our own eight pairs, of the kind that RoBERTa, GPT-2 and SmolLM2 have."""
    made = Tokenizer(models.BPE())
    made.pre_tokenizer = pre_tokenizers.ByteLevel(add_prefix_space=False)
    names = list(dict.fromkeys(special.values()))
    trainer = trainers.BpeTrainer(
        vocab_size=400, special_tokens=names, initial_alphabet=pre_tokenizers.ByteLevel.alphabet()
    )
    made.train_from_iterator([*SAID, *ANSWERED, *CONCEPTS], trainer)
    made.decoder = decoders.ByteLevel()
    if template:
        first, last = template
        made.post_processor = processors.TemplateProcessing(
            f"{first} $A {last}", special_tokens=[(one, made.token_to_id(one)) for one in template]
        )
    PreTrainedTokenizerFast(tokenizer_object=made, **special).save_pretrained(folder)
    return int(made.get_vocab_size())


@pytest.fixture(scope="module")
def checkpoints(tmp_path_factory: pytest.TempPathFactory) -> dict[str, str]:
    torch.manual_seed(0)
    root = tmp_path_factory.mktemp("checkpoints")
    small: dict[str, Any] = {"num_hidden_layers": 2, "num_attention_heads": 2}
    bert = {
        "bos_token": "[CLS]",
        "cls_token": "[CLS]",
        "sep_token": "[SEP]",
        "pad_token": "[PAD]",
        "eos_token": "[SEP]",
    }
    size = _words(root / "bert", {"pad_token": "[PAD]", **bert}, ("[CLS]", "[SEP]"))
    BertForMaskedLM(
        BertConfig(vocab_size=size, hidden_size=32, intermediate_size=64, **small)
    ).save_pretrained(root / "bert")
    roberta = {
        "bos_token": "<s>",
        "cls_token": "<s>",
        "sep_token": "</s>",
        "eos_token": "</s>",
        "pad_token": "<pad>",
    }
    size = _words(root / "roberta", roberta, ("<s>", "</s>"))
    config = RobertaConfig(
        vocab_size=size,
        hidden_size=32,
        intermediate_size=64,
        pad_token_id=2,
        max_position_embeddings=80,
        **small,
    )
    RobertaModel(config).save_pretrained(root / "roberta")
    size = _words(root / "gpt2", {"bos_token": "<|e|>", "eos_token": "<|e|>"}, None)
    GPT2LMHeadModel(
        GPT2Config(vocab_size=size, n_embd=48, n_layer=2, n_head=2, bos_token_id=0, eos_token_id=0)
    ).save_pretrained(root / "gpt2")
    size = _words(root / "llama", {"bos_token": "<|im_start|>", "eos_token": "<|im_end|>"}, None)
    LlamaForCausalLM(
        LlamaConfig(vocab_size=size, hidden_size=48, intermediate_size=64, num_key_value_heads=1, bos_token_id=0,
                    eos_token_id=1, tie_word_embeddings=True, **small)
    ).save_pretrained(root / "llama")  # fmt: skip
    return {path.name: str(path) for path in root.iterdir()}


KINDS: dict[str, dict[str, Any]] = {
    "bert2bert": {"reader": "bert", "writer": "bert"},
    "tied": {"reader": "bert", "writer": "bert", "tied": True},
    "roberta-gpt2": {"reader": "roberta", "writer": "gpt2", "heads": ("emotion",), "concepts": 24},
    "bert-llama": {
        "reader": "bert",
        "writer": "llama",
        "heads": ("emotion",),
        "concepts": 24,
        "cross_every": 2,
    },
    "without concepts": {"reader": "roberta", "writer": "gpt2", "heads": ("emotion",)},
}


def made(kind: str, checkpoints: dict[str, str], **others: Any) -> tuple[Any, Any, Any, dict[str, Any]]:
    given = {**KINDS[kind], **others}
    given |= {side: checkpoints[given[side]] for side in ("reader", "writer")}
    settings = encoder_decoder.Settings(**given, dropout=0.0, max_tokens=40, max_reply_tokens=40)
    classes = {"emotion": 4} if settings.heads else {}
    torch.manual_seed(1)
    model, tokenizer = encoder_decoder.build(settings, classes, [])
    model.begin_with(tokenizer)
    examples = []
    for i, (said, answered) in enumerate(zip(SAID, ANSWERED, strict=True)):
        context = [Turn("listener", "hello"), Turn("speaker", said)]
        one = encode_pair(encoder_decoder, settings, tokenizer, context, answered, concepts=CONCEPTS[i])
        examples.append({**one, "labels": [len(one["reply_ids"]) - 1, *([i % 4] if classes else [])]})
    return model, tokenizer, settings, in_batch(examples, pad_id=int(tokenizer.pad_token_id))


@pytest.mark.parametrize("kind", KINDS)
def test_it_learns_eight_pairs_by_heart_and_survives_the_disk(
    kind: str, checkpoints: dict[str, str], tmp_path: Path
) -> None:
    model, tokenizer, _, batch = made(kind, checkpoints)
    optimizer = torch.optim.Adam(model.parameters(), 3e-3)
    model.train()
    for module in model.modules():
        if isinstance(module, torch.nn.Dropout):
            module.p = 0.0
    for _ in range(150):
        optimizer.zero_grad()
        model(**batch)["loss"].backward()
        optimizer.step()
    model.eval()
    model.save_pretrained(tmp_path)
    tokenizer.save_pretrained(tmp_path)
    again, words = encoder_decoder.load(tmp_path).eval(), open_tokenizer(tmp_path)
    with torch.no_grad():
        found = model(**batch)["logits"]
        assert torch.equal(again(**batch)["logits"], found), "weights lost on the way"
        assert (found[:, 0] / batch["labels"][:, 0]).exp().max() < 1.5
        for how in ({}, {"num_beams": 3}, {"use_cache": False}):
            understood = read(again, batch)
            said = again.generate(
                encoder_outputs=understood, attention_mask=understood.mask, max_new_tokens=40, **how
            )
            texts = [words.decode(row, skip_special_tokens=True).strip() for row in said]
            assert texts == list(ANSWERED), how
    assert isinstance(words, TwoTokenizers) == ("bert2" not in kind and kind != "tied")


@pytest.mark.parametrize("kind", ["bert2bert", "roberta-gpt2", "bert-llama"])
def test_a_pair_is_as_likely_alone_as_in_a_batch(kind: str, checkpoints: dict[str, str]) -> None:
    """Padding, of what is read and of what is known, changes nothing."""
    model, _, _, batch = made(kind, checkpoints)
    model.eval()
    if kind == "bert-llama":
        for module in model.modules():  # what begins at nought would hide what is read
            if isinstance(module, Opened):
                torch.nn.init.normal_(module.crossattention.out.weight, std=0.3)
    with torch.no_grad():
        together = model(**batch)["logits"]
        for row in range(4):
            alone = {name: rows[row : row + 1] for name, rows in batch.items()}
            for mask, ids in (("attention_mask", "input_ids"), ("reply_mask", "reply_ids")):
                length = int(alone[mask].sum())
                alone[ids], alone[mask] = alone[ids][:, :length], alone[mask][:, :length]
            if "prompt_ids" in alone:
                length = int(alone["prompt_mask"].sum())
                start = alone["prompt_ids"].shape[1] - length
                alone["prompt_ids"], alone["prompt_mask"] = (
                    alone["prompt_ids"][:, start:], alone["prompt_mask"][:, start:],
                )  # fmt: skip
            assert torch.allclose(model(**alone)["logits"][0], together[row], atol=1e-4), row


def test_the_first_weights_are_the_checkpoints_and_cross_attention_is_drawn(
    checkpoints: dict[str, str],
) -> None:
    model, *_ = made("bert2bert", checkpoints)
    given = BertForMaskedLM.from_pretrained(checkpoints["bert"]).state_dict()
    for name, weights in given.items():
        side = f"writer.{name}" if name.startswith("cls") else f"reader.{name.removeprefix('bert.')}"
        assert torch.equal(model.state_dict()[side], weights), side
    looks = {n: w for n, w in model.named_parameters() if "crossattention" in n and n.endswith("weight")}
    assert len(looks) == 2 * 5
    for name, weights in looks.items():
        if "LayerNorm" in name:
            assert (weights == 1).all()
        else:
            assert 0.01 < weights.std() < 0.03, name
    assert all(
        model.is_pretrained(n) != (n in looks) for n, _ in model.named_parameters() if n.endswith("weight")
    )
    cold, *_ = made("bert2bert", checkpoints, warm=False)
    name = "reader.encoder.layer.0.attention.self.query.weight"
    assert not torch.equal(cold.state_dict()[name], model.state_dict()[name])


def test_the_writers_first_words_are_those_of_its_checkpoint(checkpoints: dict[str, str]) -> None:
    """An opened Llama looks at nothing yet: without concepts it says what it always said."""
    model, _, _, batch = made("bert-llama", checkpoints, concepts=0)
    whole = LlamaForCausalLM.from_pretrained(checkpoints["llama"]).eval()
    with torch.no_grad():
        ours = model.eval().speak(model.say(batch["reply_ids"], read(model, batch)))
        theirs = whole(input_ids=batch["reply_ids"]).logits
    assert torch.allclose(ours, theirs, atol=1e-5)


def test_loss_is_on_the_reply_alone_and_padding_carries_none(checkpoints: dict[str, str]) -> None:
    model, _, _, batch = made("roberta-gpt2", checkpoints)
    ids = batch["reply_ids"]
    assert (ids[:, 0] == model.generation_config.decoder_start_token_id).all()
    model.eval()
    with torch.no_grad():
        scored = model(**batch)["logits"][:, 0]
        longer = {**batch, "reply_ids": torch.cat([ids, torch.full((8, 3), 7)], 1)}
        longer["reply_mask"] = torch.cat([batch["reply_mask"], torch.zeros(8, 3).long()], 1)
        assert torch.allclose(model(**longer)["logits"][:, 0], scored, atol=1e-4)
        understood = read(model, batch)
        logits = model.speak(model.say(ids[:, :-1], understood))
        by_hand = torch.nn.functional.cross_entropy(
            logits.transpose(1, 2),
            ids[:, 1:].masked_fill(batch["reply_mask"][:, 1:] == 0, -100),
            reduction="none",
        ).sum(1)
        assert torch.allclose(by_hand, scored, atol=1e-4)


def test_tied_weights_are_one_and_stay_one(checkpoints: dict[str, str], tmp_path: Path) -> None:
    model, *_ = made("tied", checkpoints)
    apart, *_ = made("bert2bert", checkpoints)
    few, many = (sum(p.numel() for p in one.parameters()) for one in (model, apart))
    assert few < 0.75 * many
    model.save_pretrained(tmp_path)
    for one in (model, encoder_decoder.load(tmp_path)):
        layer = one.writer.bert.encoder.layer[1]
        assert layer.attention.self.query.weight is one.reader.encoder.layer[1].attention.self.query.weight
        assert one.writer.get_output_embeddings().weight is one.reader.embeddings.word_embeddings.weight


def test_what_does_not_go_together_is_refused() -> None:
    with pytest.raises(InvalidValue, match="one checkpoint for reader and writer"):
        encoder_decoder.Settings("a", "b", tied=True)
    with pytest.raises(InvalidValue, match="at least 1"):
        encoder_decoder.Settings(cross_every=0)
