"""rashkin2019's generative Transformer, from scratch: an encoder, a decoder, one word table for reading and saying.

    states = Encoder(word + position)                    (batch, tokens, size)
    next token ~ softmax(words · Decoder(said so far, states))

Four layers, six heads, 300 numbers a word; the larger variant has five layers. Beside it, as in the paper's appendix:
heads over the mean state (multitask), and a second, frozen encoder whose vector joins every state (ensemble). It is
also meed2's "full Transformer", and liu2021's. Bricks are transformers' BART layers, as they keep what was computed.
"""

from dataclasses import dataclass
from pathlib import Path
from typing import Any

import torch
from torch import Tensor, nn
from transformers import BartConfig, Cache, PretrainedConfig
from transformers import PreTrainedTokenizerBase as Tokenizer
from transformers.models.bart.modeling_bart import BartDecoder, BartEncoder

from heartfelt.errors import InvalidValue
from heartfelt.models.answerer import Answerer, Read, mean_state
from heartfelt.models.backbone import copy_weights, empty_encoder, load_tokenizer
from heartfelt.models.heads import Classes, Heads, ordered
from heartfelt.models.words import word_tokenizer, word_vectors

FIXED = ("size", "layers", "attention_heads", "inner")


@dataclass(frozen=True)
class Settings:
    tokenizer: str | None = None  # a checkpoint's, or the texts' own words
    vocabulary: int = 20_000  # so many words, where they are the texts' own
    vectors: str = ""  # a file of word vectors to begin with: a word and its numbers a line
    size: int = 300
    layers: int = 4
    attention_heads: int = 6
    inner: int = 1200  # of the feed-forward layers
    dropout: float = 0.1
    window: int = 4  # turns of context
    max_tokens: int = 100
    max_reply_tokens: int = 100
    heads: tuple[str, ...] = ()  # "emotion": the mean state tells it too
    head_weight: float = 1.0
    second: str = (
        ""  # a finished run of encoder_classifier with the same tokenizer, whose vector joins every state
    )

    def __post_init__(self) -> None:
        if self.attention_heads < 1 or self.size % self.attention_heads:
            raise InvalidValue(f"settings.size {self.size} does not divide by {self.attention_heads} heads")
        if self.second and not self.tokenizer:
            raise InvalidValue("settings.second reads tokens of a checkpoint: settings.tokenizer names it")


class TransformerGeneratorConfig(PretrainedConfig):
    model_type = "heartfelt_transformer_generator"

    def __init__(
        self,
        vocabulary: int = 0,
        size: int = 300,
        layers: int = 4,
        attention_heads: int = 6,
        inner: int = 1200,
        positions: int = 100,
        dropout: float = 0.1,
        classes: Classes | None = None,  # head → number of labels
        head_weight: float = 1.0,
        second: dict[str, Any] | None = None,  # the second encoder's own config
        **others: Any,
    ) -> None:
        super().__init__(**{**others, "is_encoder_decoder": True})
        self.vocabulary, self.positions, self.size = vocabulary, positions, size
        self.layers, self.attention_heads, self.inner = layers, attention_heads, inner
        self.dropout, self.classes, self.head_weight = dropout, ordered(classes), head_weight
        self.second = second
        self.num_hidden_layers = layers  # by which transformers makes a cache

    def bart(self, layers: int | None = None) -> BartConfig:
        """The same numbers as transformers' BART wants them."""
        count = self.layers if layers is None else layers
        made = BartConfig(
            vocab_size=self.vocabulary, d_model=self.size, encoder_layers=count, decoder_layers=count,
            encoder_attention_heads=self.attention_heads, decoder_attention_heads=self.attention_heads,
            encoder_ffn_dim=self.inner, decoder_ffn_dim=self.inner, max_position_embeddings=self.positions,
            dropout=self.dropout, attention_dropout=0.0, activation_dropout=0.0, pad_token_id=0,
        )  # fmt: skip
        made._attn_implementation = "sdpa"  # layers are told by their config alone
        return made


class TransformerGenerator(Answerer):
    config_class = TransformerGeneratorConfig
    _supports_sdpa = True

    def __init__(self, config: TransformerGeneratorConfig) -> None:
        super().__init__(config)
        self.words = nn.Embedding(config.vocabulary, config.size, padding_idx=0)
        self.reader, self.writer = transformer_without_words(config.bart())
        self.heads = Heads(config.size, config.classes, config.dropout) if config.classes else None
        self.head_weight = config.head_weight
        self.second = empty_encoder(config.second) if config.second else None
        if self.second is not None:
            self.second.requires_grad_(False)
            self.join = nn.Linear(config.size + self.second.config.hidden_size, config.size)
        self.post_init()

    def _init_weights(self, module: nn.Module) -> None:
        draw(module, self.config.size)

    def read(self, input_ids: Tensor, attention_mask: Tensor, **others: Any) -> Read:
        states = self.reader(
            inputs_embeds=self.words(input_ids), attention_mask=attention_mask
        ).last_hidden_state
        if self.second is not None:
            with torch.no_grad():
                heard = self.second(
                    input_ids=input_ids, attention_mask=attention_mask
                ).last_hidden_state  # (batch, tokens, its size)
            vector = mean_state(heard, attention_mask).unsqueeze(1).expand(-1, states.shape[1], -1)
            states = self.join(torch.cat([states, vector], -1))
        mean = mean_state(states, attention_mask)
        return Read(states, attention_mask, mean, self.heads(mean) if self.heads else None)

    def say(self, reply_ids: Tensor, read: Read, past: Cache | None = None) -> Tensor:
        found: Tensor = self.writer(
            inputs_embeds=self.words(reply_ids), encoder_hidden_states=read.last_hidden_state,
            encoder_attention_mask=read.mask, past_key_values=past, use_cache=past is not None,
        ).last_hidden_state  # fmt: skip
        return found


def transformer_without_words(config: BartConfig) -> tuple[BartEncoder, BartDecoder]:
    """Encoder and decoder that are handed vectors: the word table is the model's own."""
    reader, writer = BartEncoder(config), BartDecoder(config)
    del reader.embed_tokens, writer.embed_tokens
    return reader, writer


def draw(module: nn.Module, size: int) -> None:
    """First weights: words so long that their sums with the decoder's states spread by about one."""
    if isinstance(module, nn.Embedding):
        nn.init.normal_(module.weight, std=size**-0.5)
        if module.padding_idx is not None:
            nn.init.zeros_(module.weight[module.padding_idx])
    elif isinstance(module, nn.Linear):
        nn.init.xavier_uniform_(module.weight)
        if module.bias is not None:
            nn.init.zeros_(module.bias)


def words_of(settings: Any, texts: list[str], tokenizer: Tokenizer | None) -> Tokenizer:
    """The tokenizer of the run that is started from, else a checkpoint's, else the texts' own words."""
    if tokenizer is not None:
        return tokenizer
    if settings.tokenizer:
        return load_tokenizer(settings.tokenizer)
    return word_tokenizer(texts, settings.vocabulary)


def build(
    settings: Settings, classes: dict[str, int], texts: list[str], tokenizer: Tokenizer | None = None
) -> tuple[TransformerGenerator, Tokenizer]:
    tokenizer = words_of(settings, texts, tokenizer)
    second = _second(settings.second) if settings.second else None
    config = TransformerGeneratorConfig(
        vocabulary=len(tokenizer), size=settings.size, layers=settings.layers,
        attention_heads=settings.attention_heads, inner=settings.inner,
        positions=max(settings.max_tokens, settings.max_reply_tokens), dropout=settings.dropout,
        classes=classes, head_weight=settings.head_weight, second=second.config.to_dict() if second else None,
    )  # fmt: skip
    model = TransformerGenerator(config)
    if second is not None and model.second is not None:
        copy_weights(second, model.second)
    if settings.vectors:
        with torch.no_grad():
            for place, vector in word_vectors(Path(settings.vectors), tokenizer.get_vocab(), settings.size):
                model.words.weight[place] = torch.from_numpy(vector)
    return model, tokenizer


def _second(folder: str) -> Any:
    from heartfelt.models.encoder_classifier import load as load_classifier

    return load_classifier(Path(folder) / "model").encoder


def load(folder: Path) -> TransformerGenerator:
    model: TransformerGenerator = TransformerGenerator.from_pretrained(folder)
    return model
