"""Re-score anyone: the formats in which other projects published their test outputs.

Each reader yields what a file says, row by row, prefixes cut off exactly; `align` finds the turns. To add a
format: a function, a line in IMPORTERS, a test with a few rows of its shape.
"""

import ast
import re
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path

import msgspec

from heartfelt.dialogue import Dialogue
from heartfelt.errors import BadData, UnknownName
from heartfelt.evaluation.align import Said, align
from heartfelt.evaluation.outputs import Header, Outputs
from heartfelt.files import Faults, csv_rows, lines
from heartfelt.labels import EMOTIONS


@dataclass(frozen=True)
class Importer:
    """A format of published outputs."""

    read: Callable[[Path], Iterator[Said]]
    source: str
    by_order: bool = False  # rows carry no text to align by: they follow the corpus turn by turn


def _prefixed(path: Path, starts: str) -> Iterator[tuple[int, dict[str, str]]]:
    """Records of "key: value" lines; a line with the key `starts` opens the next one.

    The key is what stands before the first colon. (`line.strip("Greedy:")`, as peers do, strips a set of
    characters: it eats the first letters of 744 of MIME's replies.)
    """
    faults = Faults(strict=True, hint="")
    record: dict[str, str] = {}
    opened = 0
    for number, line in lines(path, faults):
        key, colon, value = line.partition(":")
        if not colon:
            continue
        if key.lower() == starts:
            if record:
                yield opened, record
            record, opened = {}, number
        if opened:
            record[key.lower()] = value.strip()
    if record:
        yield opened, record
    if not opened:
        raise BadData(f"{path} has no line that starts with '{starts}:'; is it the right file?")


def _records(path: Path, replies: dict[str, str]) -> Iterator[Said]:
    """Peers of the MoEL line: emotion, Context (a Python list), a line a system, the reference."""
    for line, record in _prefixed(path, "emotion"):
        gold, *details = record["emotion"].split("\t")
        guesses = next((d.split(":")[1].strip() for d in details if d.startswith("predicted_emotion")), None)
        try:
            context = tuple(ast.literal_eval(record["context"]))
            for key, system in replies.items():
                if key in record:
                    yield Said(
                        system, line, context, record["ref"], record[key], gold.strip(),
                        None if guesses is None else (guesses,),
                    )  # fmt: skip
        except KeyError as missing:
            raise BadData(f"{path}:{line}: the record has no line '{missing.args[0]}:'") from None
        except (SyntaxError, ValueError):
            raise BadData(f"{path}:{line}: the context is not a list: {record['context'][:80]}") from None


def moel(path: Path) -> Iterator[Said]:
    systems = {"trs": "transformer", "trs+multitask": "transformer-multitask", "moe": "moel"}
    return _records(path, {**systems, "moe+oracle": "moel-oracle"})


def mime(path: Path) -> Iterator[Said]:
    return _records(path, {"greedy": "mime-greedy", "beam": "mime-beam", "topk": "mime-topk"})


def empdg(path: Path) -> Iterator[Said]:
    name = path.stem.lower().removeprefix("empdg_")
    name = name if name == "empdg" else f"empdg-repo-{name}"
    return _records(path, {"pred": name, "greedy": name})


_NAMED = re.compile(rf"\b({'|'.join(EMOTIONS)})\b")


def llm4ed(path: Path) -> Iterator[Said]:
    """ChatGPT's guesses in free text: the first of the 32 emotions named, or no answer (12 %)."""
    for number, line in lines(path, Faults(strict=True, hint="")):
        found = _NAMED.search(line.lower())
        yield Said("chatgpt-3.5-guesses", number, guesses=(found[1],) if found else ())


_ALIASES = {
    "reply": ("reply", "response", "prediction", "pred", "generated", "output", "hypothesis"),
    "reference": ("reference", "ref", "target", "gold_response", "gold"),
    "context": ("context", "history", "prompt"),
    "dialogue": ("dialogue", "dialogue_id", "conv_id", "id"),
    "turn": ("turn", "turn_index", "utterance_idx"),
    "emotion": ("emotion", "gold_emotion", "label"),
    "guess": ("guess", "predicted_emotion", "emotion_pred"),
}
_FROM_ONE = "utterance_idx"  # ED's own column counts turns from 1, the others from 0


def table(path: Path) -> Iterator[Said]:
    """A CSV or TSV with a header: reply, reference; context, dialogue, turn, emotion, guess if there."""
    faults = Faults(strict=True, hint="")
    delimiter = "\t" if path.suffix.lower() in (".tsv", ".txt") else ","
    for row in csv_rows(path, faults, (), delimiter, unique=True):
        lower = {name.lower(): value.strip() for name, value in row.fields.items()}
        cells = {
            field: next((lower[name] for name in names if lower.get(name)), None)
            for field, names in _ALIASES.items()
        }
        if cells["reply"] is None and cells["guess"] is None:
            known = ", ".join(_ALIASES["reply"])
            raise BadData(f"{path}:{row.line}: no reply; its column is called one of: {known}")
        turn = cells["turn"]
        if turn is not None and not turn.isdecimal():
            raise BadData(f"{path}:{row.line}: the turn is '{turn}', not a number")
        from_one = not any(lower.get(name) for name in _ALIASES["turn"] if name != _FROM_ONE)
        index = None if turn is None else int(turn) - from_one
        if index is not None and index < 0:
            raise BadData(f"{path}:{row.line}: {_FROM_ONE} is {turn}; it counts from 1")
        yield Said(
            path.stem, row.line, (cells["context"],) if cells["context"] else (), cells["reference"],
            cells["reply"], cells["emotion"], (cells["guess"],) if cells["guess"] else None,
            cells["dialogue"], index,
        )  # fmt: skip


IMPORTERS: dict[str, Importer] = {
    "moel": Importer(moel, "HLTCHKUST/MoEL, generation_result.txt: four systems"),
    "mime": Importer(mime, "declare-lab/MIME, output.txt: greedy, beam, top-k, and emotion guesses"),
    "empdg": Importer(empdg, "qtli/EmpDG, Predictions/*.txt: one system a file, 2,713 turns"),
    "llm4ed": Importer(llm4ed, "27182812/LLM4ED, ED_chatgpt_stage1.txt: emotion guesses", by_order=True),
    "table": Importer(table, "any CSV or TSV with a header: reply, reference, context, dialogue, turn…"),
}


def find(name: str) -> Importer:
    try:
        return IMPORTERS[name]
    except KeyError:
        raise UnknownName("importer", name, IMPORTERS) from None


def load(name: str, path: Path, dialogues: list[Dialogue], header: Header) -> list[Outputs]:
    """A peer's file as outputs, one a system in it. The header says of which corpus and split they are."""
    importer = find(name)
    systems: dict[str, list[Said]] = {}
    for said in importer.read(path):
        systems.setdefault(said.system, []).append(said)
    if not systems:
        raise BadData(f"{path} holds no outputs")
    language = dialogues[0].language if dialogues else header.language
    return [
        align(
            rows,
            dialogues,
            msgspec.structs.replace(header, system=system, source=path.name, language=language),
            importer.by_order,
        )
        for system, rows in systems.items()
    ]
