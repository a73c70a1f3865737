"""A trained encoder without torch: onnxruntime and tokenizers are all that it needs.

A folder holds encoder.onnx, tokenizer.json and encoder.json (labels of each head, temperatures, how text is cut).
"""

from collections.abc import Sequence
from pathlib import Path
from typing import Any, Literal

import msgspec
import numpy as np
from numpy.typing import NDArray

from heartfelt.errors import BadData, MissingData
from heartfelt.files import sha256

Array = NDArray[np.float32]
_BATCH = 64


class Card(msgspec.Struct, frozen=True):
    """encoder.json: what one must know to use encoder.onnx."""

    heads: dict[str, tuple[str, ...]]  # head → labels, in the order of the outputs
    temperatures: dict[str, float]  # head → what its logits are divided by, so that chances are true
    separator: str  # between turns
    suffix: str  # after the text
    max_tokens: int
    pad_id: int
    sha256: str  # of encoder.onnx
    thresholds: dict[str, float] = {}  # head → from which chance of its last label on it is said to hold
    # head → what each label's chance is multiplied by where rare ones should count
    balance: dict[str, tuple[float, ...]] = {}


def read_card(folder: Path) -> Card:
    try:
        return msgspec.json.decode((folder / "encoder.json").read_bytes(), type=Card)
    except FileNotFoundError:
        raise MissingData(f"There is no encoder in {folder}: encoder.json is missing") from None
    except msgspec.MsgspecError as problem:
        raise BadData(f"{folder / 'encoder.json'} is not an encoder's card: {problem}") from None


class Encoder:
    """Text in, a distribution for each head and a vector out."""

    def __init__(self, folder: Path) -> None:
        import onnxruntime as runtime  # type: ignore[import-untyped]  # here: both take a moment to load
        import tokenizers

        self.card = read_card(folder)
        model = folder / "encoder.onnx"
        if not model.is_file() or sha256(model) != self.card.sha256:
            raise BadData(f"{model} is not the model that encoder.json describes; fetch or export both again")
        options = runtime.SessionOptions()
        # Threads that wait for more by spinning take the cores from llama.cpp, and from the other encoders.
        options.add_session_config_entry("session.intra_op.allow_spinning", "0")
        self._session = runtime.InferenceSession(str(model), options, providers=["CPUExecutionProvider"])
        self._outputs = {output.name for output in self._session.get_outputs()}
        self._tokenizer = tokenizers.Tokenizer.from_file(str(folder / "tokenizer.json"))
        self._tokenizer.enable_truncation(self.card.max_tokens, direction="left")
        self._tokenizer.enable_padding(pad_id=self.card.pad_id)

    def __call__(
        self, texts: Sequence[Sequence[str]], side: Literal["context", "reply"] = "context"
    ) -> tuple[dict[str, Array], Array]:
        """Head → (texts, labels) chances, and (texts, size) vectors. A text is its turns.

        side: what the vectors are of, for an encoder that has learned which reply answers which context.
        """
        wanted = ["logits", side if side in self._outputs else "vector"]
        joined = [self.card.separator.join(turns) + self.card.suffix for turns in texts]
        # Like lengths together, so that a short text is not padded to a long one.
        order = sorted(range(len(joined)), key=lambda i: len(joined[i]))
        logits: list[Any] = [None] * len(joined)
        vectors: list[Any] = [None] * len(joined)
        for start in range(0, len(order), _BATCH):
            chosen = order[start : start + _BATCH]
            encoded = self._tokenizer.encode_batch([joined[i] for i in chosen])
            inputs = {
                "input_ids": np.array([e.ids for e in encoded], np.int64),
                "attention_mask": np.array([e.attention_mask for e in encoded], np.int64),
            }
            for i, row, vector in zip(chosen, *self._session.run(wanted, inputs), strict=True):
                logits[i], vectors[i] = row, vector
        return self._chances(np.array(logits)), np.array(vectors)

    def reads_whole(self, text: str) -> bool:
        """Or is some of it cut off?"""
        return not self._tokenizer.encode(text + self.card.suffix).overflowing

    def _chances(self, logits: Array) -> dict[str, Array]:
        found, start = {}, 0
        for head, labels in self.card.heads.items():
            part = logits[:, start : start + len(labels)] / self.card.temperatures.get(head, 1.0)
            chances = np.exp(part - part.max(-1, keepdims=True))
            found[head] = chances / chances.sum(-1, keepdims=True)
            start += len(labels)
        return found
