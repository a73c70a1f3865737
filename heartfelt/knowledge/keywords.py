"""The keywords of a text by KeyBERT: its words whose embeddings are nearest to that of the whole.

Every text, be it a document or a word, is embedded by itself. So the keywords of a document are the same alone or in a
batch, whatever came before: padding and quantised arithmetic make an embedding hang on its neighbours in a batch.
"""

import re
from collections.abc import Callable, Sequence
from functools import lru_cache
from typing import Any

import numpy as np
from numpy.typing import NDArray

from heartfelt.errors import need
from heartfelt.knowledge.stop_words import ENGLISH

Embed = Callable[[Sequence[str]], NDArray[Any]]  # texts → (texts, size)
Keyword = tuple[str, float]  # and the cosine of its embedding and the text's

MOST = 10  # liu2021
_LONGEST = 4_000  # characters; of a longer text the end counts. ED's longest context has 1,540
_REMEMBERED = 50_000  # words: EmpatheticDialogues has 21,387
# A candidate is what scikit-learn's CountVectorizer calls a word. Only such stop words can occur.
_STOP_WORDS = sorted(word for word in ENGLISH if re.fullmatch(r"\w\w+", word))


class Keywords:
    """Text → its keywords with scores above 0, the best first.

    Stop words are those of liu2021's filter, not KeyBERT's default (scikit-learn's), which has "cry", "fire" and
    "interest" among them.
    """

    def __init__(self, embed: Embed, most: int = MOST) -> None:
        keybert = need("keybert", "knowledge", "Finding keywords")
        backend = need("keybert.backend", "knowledge", "Finding keywords")
        remembered = lru_cache(_REMEMBERED)(lambda text: np.asarray(embed([text]))[0])

        class Alone(backend.BaseEmbedder):  # type: ignore[name-defined, misc]  # keybert is untyped
            def embed(self, texts: Sequence[str], verbose: bool = False) -> NDArray[Any]:
                return np.stack([remembered(str(text)) for text in texts])

        self._keybert = keybert.KeyBERT(Alone())
        self.most = most

    def __call__(self, text: str) -> list[Keyword]:
        if not text.strip():
            return []
        found = self._keybert.extract_keywords(text[-_LONGEST:], stop_words=_STOP_WORDS, top_n=self.most)
        return [(word, score) for word, score in found if score > 0]
