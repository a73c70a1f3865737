"""Which turn of a corpus a published reply answers.

Found by ids where a file has them, or else by the text of the last context turn and the reference, spelt
alike. References stay as the peer published them (lower-case, cut into tokens), because its replies are spelt
so; the human figure beside them is counted on the same spelling.
"""

import unicodedata
from collections import defaultdict
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import Any

import msgspec

from heartfelt.dialogue import Dialogue, Example, examples
from heartfelt.errors import BadData, InvalidValue
from heartfelt.evaluation.outputs import Header, Output, Outputs
from heartfelt.evaluation.tokens import peers


@dataclass(frozen=True)
class Said:
    """One row of a peer's file, before we know which turn it answers."""

    system: str  # which of the file's systems or decodings
    line: int
    context: tuple[str, ...] = ()
    reference: str | None = None
    reply: str | None = None
    gold: str | None = None
    guesses: tuple[str, ...] | None = None
    dialogue: str | None = None  # known only to files that give ids
    turn: int | None = None


# Spelling that the peers' clean-up changes: contractions are written out, quotes and spaces are lost.
_SPELLING = (
    ("can't", "can not"), ("cannot", "can not"), ("won't", "will not"), ("n't", " not"), ("'m", " am"),
    ("'re", " are"), ("'ll", " will"), ("'ve", " have"), ("'d", " would"), ("'s", " is"),
)  # fmt: skip


def spelt_alike(text: str) -> str:
    """Letters and digits only, contractions written out: equal for a text and any peer's copy of it."""
    text = unicodedata.normalize("NFKC", text).lower().replace("’", "'").replace("_comma_", ",")
    for short, long in _SPELLING:
        text = text.replace(short, long)
    return "".join(filter(str.isalnum, text))


def align(
    rows: Sequence[Said], dialogues: Iterable[Dialogue], header: Header, by_order: bool = False
) -> Outputs:
    """The rows of one system, each on its turn of the corpus; the header lists those that match none."""
    turns = [example for dialogue in dialogues for example in examples(dialogue, window=None)]
    found = _in_order(rows, turns, header) if by_order else _by_text(rows, turns)
    outputs, unmatched, disputed = [], [], []
    for row, example in zip(rows, found, strict=True):
        if isinstance(example, str):
            why = f" ({example})" if example else ""
            unmatched.append(f"line {row.line}: {row.reference or row.reply or ''}"[:200] + why)
        else:
            outputs.append(_output(row, example, header))
            # One dialogue in the files of the MoEL line. Published figures were counted on theirs, so it stays.
            if example.dialogue.emotion not in (None, outputs[-1].gold):
                disputed.append(outputs[-1].name)
    if not outputs:
        raise BadData(
            f"No row of {header.source} ({len(rows):,}) matches a turn of {header.corpus} {header.split}; "
            f"the first: {unmatched[0] if unmatched else 'there is none'}"
        )
    lists = {"unmatched": tuple(unmatched), "disputed": tuple(disputed)}
    return Outputs(msgspec.structs.replace(header, **lists), tuple(outputs))


def _output(row: Said, example: Example, header: Header) -> Output:
    try:
        return Output(
            example.dialogue.id, example.index,
            context=row.context or tuple(turn.text for turn in example.context),
            reference=row.reference, reply=row.reply,
            gold=row.gold or example.dialogue.emotion, guesses=row.guesses,
        )  # fmt: skip
    except InvalidValue as problem:
        raise BadData(f"{header.source}:{row.line}: {problem}") from None


def _by_text(rows: Sequence[Said], turns: Sequence[Example]) -> list[Example | str]:
    """The turn of each row, or why it has none. Each turn is taken once.

    Of turns whose context and reply read alike, the first that is left: there the files follow the corpus. A
    reference alone ("That is great!") may fit turns of any dialogue, so it must fit one only, the row's emotion
    and dialogue considered; a guess would attach a wrong context and emotion.
    """
    fitting: dict[tuple[str | int, ...], list[Example]] = defaultdict(list)
    for example in turns:
        reference = spelt_alike(example.response.text)
        fitting["id", example.dialogue.id, example.index].append(example)
        fitting["text", spelt_alike(example.context[-1].text), reference].append(example)
        fitting["text", reference].append(example)
    taken: dict[tuple[str, int], int] = {}  # turn → line

    def find(row: Said) -> Example | str:
        key = _key(row)
        fits = fitting.get(key, [])
        there = fits[0].response.text if fits else ""
        if key[0] == "id" and fits and row.reference and spelt_alike(row.reference) != spelt_alike(there):
            return f"the corpus has another reference there: {there[:60]}"
        alike = [
            e
            for e in fits
            if row.gold in (None, e.dialogue.emotion) and row.dialogue in (None, e.dialogue.id)
        ]
        if key[0] == "text" and not row.context and len(fits) > 1:
            if len(alike) != 1:
                return (
                    f"ambiguous: fits {len(alike) or len(fits)} turns; give a context, or dialogue and turn"
                )
            fits = alike
        left = [e for e in (*alike, *fits) if (e.dialogue.id, e.index) not in taken]
        if not left:
            first = taken.get((fits[0].dialogue.id, fits[0].index)) if fits else None
            return f"a second row for the turn of line {first}" if first else ""
        taken[left[0].dialogue.id, left[0].index] = row.line
        return left[0]

    return [find(row) for row in rows]


def _key(row: Said) -> tuple[str | int, ...]:
    if row.dialogue is not None and row.turn is not None:
        return "id", row.dialogue, row.turn
    context = (spelt_alike(row.context[-1]),) if row.context else ()
    return "text", *context, spelt_alike(row.reference or "")


def _in_order(rows: Sequence[Said], turns: Sequence[Example], header: Header) -> Sequence[Example]:
    """For files without text to align by. The peers' loader loses the last dialogue of ED's test file."""
    last = turns[-1].dialogue.id if turns else ""
    without = [example for example in turns if example.dialogue.id != last]
    for known in (turns, without):
        if len(known) == len(rows):
            return known
    raise BadData(
        f"{header.source} has {len(rows):,} rows; {header.corpus} {header.split} has {len(turns):,} turns to "
        f"answer ({len(without):,} without its last dialogue), so they cannot be paired by their order"
    )


def respelt(outputs: Outputs) -> Outputs:
    """Replies and references as the peers' files spell them, so that token counts compare with theirs."""
    rows = []
    for row in outputs.rows:
        texts = {name: getattr(row, name) for name in ("reply", "reference")}
        rows.append(
            msgspec.structs.replace(row, **{name: peers(text) for name, text in texts.items() if text})
        )
    return Outputs(outputs.header, tuple(rows))


def complete(outputs: Outputs, dialogues: Iterable[Dialogue], corpus: str = "") -> Outputs:
    """Fill in what the corpus knows and the file does not say: reference, emotion, context, reference label.

    What the file does say must be the corpus's, spelling aside, unless its header disputes it.
    """
    if corpus and outputs.header.corpus not in ("", corpus):
        raise BadData(
            f"{outputs.header.system} answers {outputs.header.corpus}, as its header says, not {corpus}"
        )
    turns = {(e.dialogue.id, e.index): e for d in dialogues for e in examples(d, window=None, sides="both")}
    rows, disputed = [], set(outputs.header.disputed)
    for number, row in enumerate(outputs.rows, 1):
        example = turns.get((row.dialogue, row.turn))
        if example is None:
            raise BadData(f"{outputs.header.system}, row {number}: the corpus has no {row.name}")
        known: dict[str, Any] = {
            "reference": example.response.text,
            "gold": example.dialogue.emotion,
            "context": tuple(turn.text for turn in example.context),
            "reference_label": example.response.label,
        }
        for name in ("reference", "gold"):
            given, right = getattr(row, name), known[name]
            known_otherwise = name == "gold" and row.name in disputed
            if given and right and spelt_alike(given) != spelt_alike(right) and not known_otherwise:
                raise BadData(
                    f"{outputs.header.system}, row {number}: the {name} of {row.name} is '{given[:60]}', "
                    f"in the corpus '{right[:60]}'"
                )
        rows.append(msgspec.structs.replace(row, **{k: v for k, v in known.items() if not getattr(row, k)}))
    return Outputs(outputs.header, tuple(rows))
