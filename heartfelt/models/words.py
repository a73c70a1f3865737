"""A vocabulary of words, for models that learn from scratch: the most frequent words of the training texts."""

from collections.abc import Iterable, Iterator, Mapping
from pathlib import Path

import numpy as np
from numpy.typing import NDArray
from tokenizers import Tokenizer, models, normalizers, pre_tokenizers, processors, trainers
from transformers import PreTrainedTokenizerFast

from heartfelt.arabic.clitics import CLITIC
from heartfelt.errors import BadData, MissingData
from heartfelt.files import Faults, lines

SPECIAL = ("<pad>", "<unk>", "<s>", "</s>")


def word_tokenizer(texts: Iterable[str], size: int, min_count: int = 2) -> PreTrainedTokenizerFast:
    """Lower-case words and punctuation marks; everything rarer is <unk>. Turns are parted by </s>."""
    tokenizer = Tokenizer(models.WordLevel(unk_token="<unk>"))
    tokenizer.normalizer = normalizers.Sequence([normalizers.NFKC(), normalizers.Lowercase()])
    texts = list(texts)
    marked = any(CLITIC.search(text) for text in texts)  # Arabic that was segmented: و+ is one token
    tokenizer.pre_tokenizer = pre_tokenizers.WhitespaceSplit() if marked else pre_tokenizers.Whitespace()
    trainer = trainers.WordLevelTrainer(
        vocab_size=size, min_frequency=min_count, special_tokens=list(SPECIAL), show_progress=False
    )
    tokenizer.train_from_iterator(texts, trainer)
    ends = [(token, tokenizer.token_to_id(token)) for token in ("<s>", "</s>")]
    tokenizer.post_processor = processors.TemplateProcessing(single="<s> $A </s>", special_tokens=ends)
    return PreTrainedTokenizerFast(
        tokenizer_object=tokenizer, pad_token="<pad>", unk_token="<unk>", bos_token="<s>", eos_token="</s>",
        sep_token="</s>", truncation_side="left",
    )  # fmt: skip


def word_vectors(
    path: Path, vocabulary: Mapping[str, int], size: int
) -> Iterator[tuple[int, NDArray[np.float32]]]:
    """Where a word stands in the vocabulary, and its vector, for each word of a GloVe or fastText file that has one.

    A line is a word and its numbers, parted by spaces; fastText's first line, which counts them, is passed over.
    """
    if not path.is_file():
        raise MissingData(f"There are no word vectors at {path}: settings.vectors names the file")
    faults, found = Faults(), 0
    for number, line in lines(path, faults):
        word, *numbers = line.rstrip().rsplit(" ", size)  # some words of GloVe's hold spaces
        if len(numbers) < size:
            if number > 1:  # fastText's first line says how many there are
                raise BadData(f"{path}, line {number}: {len(numbers)} numbers, and settings.size is {size}")
            continue
        if word not in vocabulary:
            continue
        try:
            yield vocabulary[word], np.array(numbers, np.float32)
        except ValueError:
            raise BadData(f"{path}, line {number}: '{word}' is not followed by {size} numbers") from None
        found += 1
    if not found:
        why = f": {faults.first[0].reason}" if faults.first else ""
        raise BadData(f"{path} has a vector of {size} numbers for none of our words{why}")
