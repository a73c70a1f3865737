"""A model that reads in one checkpoint's words and answers in another's: both tokenizers, as one."""

from pathlib import Path
from typing import Any

from transformers import PreTrainedTokenizerBase as Tokenizer

from heartfelt.models.backbone import saved_tokenizer
from heartfelt.models.segmenting import reopened

READER = "reader"  # the folder, below the writer's files


class TwoTokenizers:
    """The writer's tokenizer, with the reader's beside it."""

    def __init__(self, reader: Tokenizer, writer: Tokenizer) -> None:
        self.reader, self._writer = reader, writer

    def __getattr__(self, name: str) -> Any:
        return getattr(self.__dict__["_writer"], name)

    def __setattr__(self, name: str, value: Any) -> None:
        if name in ("reader", "_writer"):
            self.__dict__[name] = value
        else:
            setattr(self._writer, name, value)

    def __call__(self, *what: Any, **how: Any) -> Any:
        return self._writer(*what, **how)

    def __len__(self) -> int:
        return len(self._writer)

    def save_pretrained(self, folder: Path) -> None:
        self._writer.save_pretrained(folder)
        self.reader.save_pretrained(folder / READER)


def reader_of(tokenizer: Any) -> Any:
    return tokenizer.reader if isinstance(tokenizer, TwoTokenizers) else tokenizer


def open_tokenizer(folder: Path) -> Any:
    """What a model's folder holds: one tokenizer, or two; with a segmenter before it, if it has one."""
    writer = saved_tokenizer(folder)
    if not (folder / READER).is_dir():
        return reopened(writer, folder)
    return reopened(TwoTokenizers(saved_tokenizer(folder / READER), writer), folder)
