"""Chit-chat: small talk that wants a plain answer, English and Arabic.

Source: https://github.com/gunthercox/chatterbot-corpus and Microsoft's Personality Chat sets
Licence: BSD-3-Clause (chatterbot), MIT (Personality Chat)
Fields: two people alternate; meta keeps `category`. Splits are its three parts: chatterbot_english,
chatterbot_arabic, personality_chat.
Known faults: tech_support and coding repeat themselves a hundredfold. One English and four Arabic entries are
strings where a list of turns should be. The categories `emotion` and `psychology` are not neutral talk: leave
them out of neutral sets.
"""

from collections.abc import Iterator
from pathlib import Path

import yaml

from heartfelt.corpora.corpus import Corpus, Download, alternating
from heartfelt.dialogue import Dialogue
from heartfelt.errors import MissingData
from heartfelt.files import Faults, lines

_PERSONALITY = "qna_chitchat_professional.tsv"


def read(folder: Path, split: str, faults: Faults) -> Iterator[Dialogue]:
    if split == "personality_chat":
        yield from _questions(folder / split / _PERSONALITY, faults)
        return
    language = "ar" if split == "chatterbot_arabic" else "en"
    paths = sorted((folder / split).glob("*.yml"))
    if not paths:
        raise MissingData(f"There are no .yml files in {folder / split}: heartfelt corpora pull chitchat")
    for path in paths:
        for number, texts in _conversations(path, faults):
            id_ = f"{language}-{path.stem}-{number}"
            meta = {"category": path.stem}
            yield Dialogue(id_, alternating(texts), language=language, source=CORPUS.name, meta=meta)


def _questions(path: Path, faults: Faults) -> Iterator[Dialogue]:
    for number, line in lines(path, faults):
        fields = [field.strip() for field in line.split("\t")]
        if number == 1 and fields[:2] == ["Question", "Answer"]:
            continue
        if len(fields) < 2 or not all(fields[:2]):
            faults.add(path, number, "not of the form: question, tab, answer")
            continue
        meta = {"category": "personality"}
        yield Dialogue(f"en-personality-{number}", alternating(fields[:2]), source=CORPUS.name, meta=meta)


def _conversations(path: Path, faults: Faults) -> Iterator[tuple[int, list[str]]]:
    """Line number and texts of every conversation in a chatterbot file."""
    kept: list[str] = []
    for number, line in lines(path, faults):
        kept += [""] * (number - 1 - len(kept))  # a line that cannot be read leaves its number empty
        kept.append(line)
    try:
        # Not the C loader: it dies of deep nesting, where this one raises RecursionError.
        root = yaml.compose("\n".join(kept), Loader=yaml.SafeLoader)
    except yaml.MarkedYAMLError as problem:
        mark = problem.problem_mark or problem.context_mark
        faults.add(path, mark.line + 1 if mark else 1, f"not YAML: {problem.problem}")
        return
    except (yaml.YAMLError, RecursionError) as problem:
        faults.add(path, 1, f"not YAML: {' '.join(str(problem).split())[:200]}")
        return
    pairs = root.value if isinstance(root, yaml.MappingNode) else []
    found = [value for key, value in pairs if getattr(key, "value", None) == "conversations"]
    if not found or not isinstance(found[0], yaml.SequenceNode):
        faults.add(path, 1, "there is no list 'conversations'")
        return
    for node in found[0].value:
        number = node.start_mark.line + 1
        turns = node.value if isinstance(node, yaml.SequenceNode) else []
        texts = [turn.value.strip() for turn in turns if isinstance(turn, yaml.ScalarNode)]
        if len(texts) != len(turns) or len(texts) < 2 or not all(texts):
            faults.add(path, number, "a conversation is a list of at least two texts")
        else:
            yield number, texts


CORPUS = Corpus(
    name="chitchat",
    about=__doc__,
    read=read,
    folder="chitchat",
    shows="*/*.yml",
    splits=("chatterbot_english", "chatterbot_arabic", "personality_chat"),
    language="en, ar",
    downloads=(
        Download(
            "https://github.com/gunthercox/chatterbot-corpus/archive/refs/heads/master.tar.gz",
            unpack_to="chatterbot_english",
            inside="chatterbot-corpus-master/chatterbot_corpus/data/english",
        ),
        Download(
            "https://github.com/gunthercox/chatterbot-corpus/archive/refs/heads/master.tar.gz",
            unpack_to="chatterbot_arabic",
            inside="chatterbot-corpus-master/chatterbot_corpus/data/arabic",
        ),
        Download(
            "https://qnamakerstore.blob.core.windows.net/qnamakerdata/editorial/"
            "english/qna_chitchat_professional.tsv",
            unpack_to="personality_chat",
        ),
    ),
)
