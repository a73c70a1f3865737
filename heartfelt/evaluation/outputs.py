"""What a system said on a test set: one JSONL file a system, one line a test turn, a header line first.

    {"format":"heartfelt-outputs","system":"mime-greedy","corpus":"empathetic_dialogues","split":"test"}
    {"dialogue":"hit:0_conv:0","turn":1,"reference":"did you suffer any injuries ?","reply":"oh no ! …"}

Only `dialogue` and `turn` are always there; a field that one row has, every row has. What is wrong in a file
is an error that names the row: nothing is dropped.
"""

import math
import unicodedata
from collections import Counter
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Literal

import msgspec

from heartfelt.dialogue import Value
from heartfelt.errors import BadData, InvalidValue
from heartfelt.files import Faults, lines, writing

# How many faults an error message shows; it always says how many there are.
SHOWN = 3


class Header(Value, frozen=True):
    """The first line of an outputs file: whose outputs these are, and of what."""

    system: str
    corpus: str = ""
    split: str = ""
    language: str = "en"
    source: str = ""  # the file that it was imported from, or the run folder that wrote it
    decoding: str = ""  # greedy, beam 5, top-k…; Distinct-n triples between them, so say which
    note: str = ""
    unmatched: tuple[str, ...] = ()  # rows of the source that match no turn of the corpus
    disputed: tuple[
        str, ...
    ] = ()  # turns whose emotion the source gives otherwise than the corpus; kept as given
    format: Literal["heartfelt-outputs"] = "heartfelt-outputs"

    def __post_init__(self) -> None:
        if not self.system.strip():
            raise InvalidValue("the system has no name")


class Output(Value, frozen=True):
    """What a system gave for one test turn, named by (dialogue, turn) as heartfelt.dialogue.Example is."""

    dialogue: str
    turn: int  # the index of the turn that is answered, from 0
    context: tuple[str, ...] = ()
    reference: str | None = None  # what the human said
    reply: str | None = None  # what the system said
    gold: str | None = None  # the true emotion of the dialogue
    emotion: dict[str, float] | None = None  # the guess as a distribution: label → probability
    guesses: tuple[str, ...] | None = None  # or as ranked labels, best first; () is "no answer", and wrong
    log_likelihood: float | None = None  # natural log of P(reference | context), summed over tokens
    tokens: int | None = None  # how many tokens that sum has, end of reply included if it was scored
    candidates: tuple[str, ...] | None = None  # replies that were ranked
    scores: tuple[float, ...] | None = None  # one a candidate
    answer: int | None = None  # which candidate is the true one
    reference_label: str | None = None  # the intent or emotion that the human reply expresses
    reply_label: str | None = None  # and the system's
    language: str | None = None

    def __post_init__(self) -> None:
        if problem := _problem(self):
            raise InvalidValue(problem)

    @property
    def name(self) -> str:
        return f"turn {self.turn} of {self.dialogue}"


# What a row may carry beside its name. Those that belong together are checked together.
FIELDS = (
    "reference", "reply", "gold", "emotion", "guesses", "log_likelihood", "tokens",
    "candidates", "scores", "answer", "reference_label", "reply_label",
)  # fmt: skip
_TOGETHER = (("log_likelihood", "tokens", "reference"), ("candidates", "scores", "answer"))


def _problem(row: Output) -> str | None:
    """What makes a row impossible to score, if anything."""
    if not row.dialogue.strip():
        return "no dialogue id"
    if row.turn < 0:
        return f"turn {row.turn} is negative"
    for name in ("reference", "reply"):
        text = getattr(row, name)
        if text is not None and not text.strip():
            return f"an empty {name} for {row.name}"
    for group in _TOGETHER:
        given = [name for name in group if getattr(row, name) is not None]
        if given not in ([], ["reference"]) and len(given) < len(group):
            missing = ", ".join(name for name in group if name not in given)
            return f"{given[0]} without {missing} for {row.name}"
    if row.log_likelihood is not None and not -math.inf < row.log_likelihood <= 0:
        return f"a log_likelihood of {row.log_likelihood} for {row.name}; it is a sum of log-probabilities"
    if row.tokens is not None and row.tokens < 1:
        return f"{row.tokens} tokens for {row.name}"
    if row.emotion is not None and (problem := _distribution_problem(row)):
        return problem
    if row.candidates is not None and row.scores is not None and row.answer is not None:
        if len(row.candidates) != len(row.scores):
            return f"{len(row.candidates)} candidates and {len(row.scores)} scores for {row.name}"
        if bad := [score for score in row.scores if not math.isfinite(score)]:
            return f"a candidate score of {bad[0]} for {row.name}"
        if not 0 <= row.answer < len(row.candidates):
            return f"answer {row.answer} is not one of {len(row.candidates)} candidates for {row.name}"
    return None


def _distribution_problem(row: Output) -> str | None:
    distribution = row.emotion or {}
    if row.guesses is not None:
        return f"both emotion and guesses for {row.name}; give the one that the system gave"
    if not distribution or not all(p >= 0 and math.isfinite(p) for p in distribution.values()):
        return f"the emotion distribution for {row.name} is empty, negative or not finite"
    if abs(total := math.fsum(distribution.values()) - 1) > 0.01:
        return f"the emotion distribution for {row.name} adds up to {1 + total:.3f}, not 1"
    return None


@dataclass(frozen=True)
class Outputs:
    """A system's outputs on a test set, checked as a whole."""

    header: Header
    rows: tuple[Output, ...]
    fields: frozenset[str] = field(init=False)  # which of FIELDS the rows carry

    def __post_init__(self) -> None:
        problems = [f"row {number}: {reason}" for number, reason in _faults(self.header, self.rows)]
        if problems:
            raise BadData(_refusal(self.header.system, problems, len(problems)))
        present = frozenset(name for name in FIELDS if getattr(self.rows[0], name) is not None)
        object.__setattr__(self, "fields", present)

    @property
    def keys(self) -> tuple[tuple[str, int], ...]:
        return tuple((row.dialogue, row.turn) for row in self.rows)

    @property
    def candidates(self) -> int:
        """How many candidates were ranked a turn: the N of P@1,N."""
        return len(self.rows[0].candidates or ())

    def human(self) -> "Outputs | None":
        """The human replies in the system's place: what a figure would be if people were scored."""
        if not {"reference", "reply"} <= self.fields:
            return None
        rows = tuple(
            Output(
                row.dialogue,
                row.turn,
                reference=row.reference,
                reply=row.reference,
                reply_label=row.reference_label,
                reference_label=row.reference_label,
            )
            for row in self.rows
        )
        return Outputs(msgspec.structs.replace(self.header, system="human"), rows)


def _faults(header: Header, rows: Sequence[Output]) -> Iterable[tuple[int, str]]:
    """What is wrong with the rows as a set: (row number from 1, reason)."""
    if not rows:
        yield 1, "there are no outputs"
        return
    expected = {name for name in FIELDS if getattr(rows[0], name) is not None}
    script = told = ""  # that of the first text with letters, and where it stands
    seen: dict[tuple[str, int], int] = {}
    for number, row in enumerate(rows, 1):
        first = seen.setdefault((row.dialogue, row.turn), number)
        if first != number:
            yield number, f"{row.name} came before, in row {first}"
        given = {name for name in FIELDS if getattr(row, name) is not None}
        if lost := sorted(expected - given):
            yield number, f"{row.name} has no {', '.join(lost)}, which row 1 has"
        if extra := sorted(given - expected):
            yield number, f"{row.name} has {', '.join(extra)}, which row 1 has not"
        if row.language not in (None, header.language):
            yield (
                number,
                f"{row.name} is in '{row.language}', the file in '{header.language}'; score them apart",
            )
        if len(row.candidates or ()) != len(rows[0].candidates or ()) and "candidates" in given & expected:
            yield (
                number,
                f"{row.name} has {len(row.candidates or ())} candidates, row 1 has {len(rows[0].candidates or ())}",
            )
        for name in ("reference", "reply"):
            other = script_of(getattr(row, name) or "")
            if script and other and other != script:
                yield (
                    number,
                    f"the {name} of {row.name} is in {other} script, {told} in {script}; score them apart",
                )
            elif other and not script:
                script, told = other, f"row {number}"


def script_of(text: str) -> str:
    """The script that most letters of a text are in: LATIN, ARABIC…; empty when it has no letters."""
    if text.isascii():  # nearly always, and a hundred times as fast
        return "LATIN" if any(map(str.isalpha, text)) else ""
    letters = filter(str.isalpha, unicodedata.normalize("NFKC", text))
    scripts = (unicodedata.name(letter, "OTHER").split()[0].split("-")[0] for letter in letters)
    counts = Counter(_TOGETHER_WRITTEN.get(script, script) for script in scripts)
    return counts.most_common(1)[0][0] if counts else ""


# Japanese mixes three scripts in a sentence.
_TOGETHER_WRITTEN = {"HIRAGANA": "CJK", "KATAKANA": "CJK"}


def _refusal(what: str, problems: Sequence[str], count: int) -> str:
    more = f" (and {count - SHOWN:,} more)" if count > SHOWN else ""
    return f"{what} cannot be scored: {'; '.join(problems[:SHOWN])}{more}"


def read(path: Path | str) -> Outputs:
    """An outputs file, whole and checked, or an error that names its faulty lines."""
    path = Path(path)
    faults = Faults()
    header: Header | None = None
    rows: list[Output] = []
    for number, line in lines(path, faults):
        if not line.strip():
            continue
        try:
            if header is None:
                header = Header.from_json(line)
            else:
                rows.append(Output.from_json(line))
        except InvalidValue as problem:
            if header is None:
                raise BadData(
                    f"{path}:{number}: the first line of an outputs file is its header, such as "
                    f'{{"system":"mine"}} ({problem}); other formats: heartfelt outputs import --help'
                ) from None
            faults.add(path, number, str(problem))
    if faults.count or header is None:
        raise BadData(_refusal(path.name, [str(fault) for fault in faults.first], faults.count))
    try:
        return Outputs(header, tuple(rows))
    except BadData as problem:
        raise BadData(f"{path}: {problem}") from None


def write(path: Path | str, outputs: Outputs) -> None:
    """The file that `read` gives back."""
    with writing(Path(path)) as file:
        # The format's name stands in the file though it is a default: a file should say what it is.
        header = {"format": outputs.header.format, **outputs.header.to_dict()}
        file.write(msgspec.json.encode(header).decode() + "\n")
        file.writelines(row.to_json() + "\n" for row in outputs.rows)


def from_texts(
    system: str, replies: Sequence[str], references: Sequence[str], language: str = "en"
) -> Outputs:
    """Outputs of two parallel lists, each pair a dialogue of its own: the shortest way from a notebook."""
    if len(replies) != len(references):
        row = min(len(replies), len(references)) + 1
        lacking = "reply" if len(replies) < len(references) else "reference"
        raise InvalidValue(
            f"{len(replies):,} replies and {len(references):,} references: row {row} has no {lacking}"
        )
    rows = []
    for number, (reply, reference) in enumerate(zip(replies, references, strict=True), 1):
        try:
            rows.append(Output(str(number), 0, reference=reference, reply=reply))
        except InvalidValue as problem:
            raise InvalidValue(f"row {number}: {problem}") from None
    return Outputs(Header(system, language=language), tuple(rows))
