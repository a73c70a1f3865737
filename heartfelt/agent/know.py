"""Know: what a dialogue brings to mind (CKECE), for models that are told, and for whoever asks why."""

from collections.abc import Callable, Sequence
from functools import cached_property
from pathlib import Path
from typing import Any

from numpy.typing import NDArray

from heartfelt.dialogue import Concept, Dialogue, Turn
from heartfelt.knowledge.ckece import Extractor, document
from heartfelt.knowledge.extracted import Concepts, plain_of, read
from heartfelt.knowledge.folder import open_knowledge

SHIPPED = "shipped"
ENCODER = "minilm"  # that finds keywords, where nobody says otherwise


def embedder(name: str) -> Callable[[Sequence[str]], NDArray[Any]]:
    """texts → vectors, by name; "shipped" is the encoder that comes with Heartfelt."""
    if name != SHIPPED:
        from heartfelt.models.sentences import sentence_embedder

        return sentence_embedder(name)
    from heartfelt.agent.encoder import Encoder
    from heartfelt.agent.listen import SHIPPED as ASSETS

    encoder = Encoder(ASSETS / "encoder")
    return lambda texts: encoder([[text] for text in texts])[1]


def knower(folder: Path | None = None) -> Callable[[Dialogue], tuple[Concept, ...]]:
    """For the agent: knowledge files in a folder, keywords by the shipped encoder."""
    return open_knowledge(folder).extractor(embedder(SHIPPED)).concepts


class Known:
    """What is known of a context, as a decoder reads it: from a file where that has it, else found now."""

    def __init__(self, file: Path | None = None) -> None:
        self._encoder = ENCODER
        self._kept: dict[str, Concepts] = {}
        if file and file.is_file():
            header, self._kept = read(file)
            self._encoder = header.encoder

    def __call__(self, turns: Sequence[Turn]) -> str:
        text = document(turns)
        found = self._kept.get(text)
        return plain_of(self._extractor(text) if found is None else found)

    @cached_property
    def _extractor(self) -> Extractor:
        return open_knowledge().extractor(embedder(self._encoder))
