"""Sentence embeddings by a pretrained checkpoint (sentence-transformers): texts in, an array out."""

from collections.abc import Callable, Sequence
from typing import Any

from numpy.typing import NDArray

from heartfelt.errors import MissingData, need
from heartfelt.models.weights import find


def sentence_embedder(name: str = "minilm") -> Callable[[Sequence[str]], NDArray[Any]]:
    """name: one of `heartfelt models list`, a folder, or the hub's (distilbert-base-nli-mean-tokens in liu2021)."""
    place = find(name)  # before torch is loaded
    library = need("sentence_transformers", "knowledge", "Embedding sentences")
    _quietly()
    try:
        model = library.SentenceTransformer(place, device="cpu")
    except (OSError, ValueError) as problem:
        raise MissingData(f"The checkpoint {name} cannot be loaded: {str(problem).splitlines()[0]}") from None

    def embed(texts: Sequence[str]) -> NDArray[Any]:
        vectors: NDArray[Any] = model.encode(list(texts), show_progress_bar=False)
        return vectors

    return embed


def _quietly() -> None:
    """No bar for weights that are read in a blink."""
    from transformers.utils import logging

    logging.disable_progress_bar()
