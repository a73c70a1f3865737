"""Learning who speaks when: subtitles beside scripts that name the speaker (Cornell), aligned word by word.

`gold` labels the boundaries of a subtitle whose film is in Cornell; `cross_validated` measures on films that training
never saw; `train` makes the weights that ship. scikit-learn (LinearSVC) fits them.
"""

import re
from collections import Counter, defaultdict
from collections.abc import Callable, Sequence
from difflib import SequenceMatcher
from itertools import pairwise
from pathlib import Path
from typing import Any
from zlib import crc32

import msgspec
import numpy as np

from heartfelt import corpora
from heartfelt.curation import sources, srt, turns
from heartfelt.curation.subtitle import Line, Unreadable
from heartfelt.errors import InvalidValue, MissingData, need
from heartfelt.evaluation.uncertainty import draws, percentiles, weighted
from heartfelt.files import Faults, writing

MEED2 = 0.7669  # accuracy that meed2 reports (section 3.1), on data of its own
FOLDS = 5
SEEN = 4  # a feature that fewer boundaries have says nothing
SCRIPTED = 200_000  # boundaries of scripts that words are learned from
LEAST_TOLD = 40  # boundaries of a subtitle that its script tells; with fewer, the alignment is chance
_SCRIPT_SEEN = 25
_STRENGTH = 0.01  # C of the second SVM
_SCRIPT_STRENGTH = 0.005  # and of the first; accuracy hardly hangs on either (docs/log.md)
_SMALL = 0.01  # weights below are left out
_WORD = re.compile(r"[a-z0-9]+(?:'[a-z]+)?")
_GRAM = 4
_KEPT = 8  # one n-gram in so many is enough to find a film
_LEAST = 0.03  # of a subtitle's n-grams that its script has
_BETWEEN = 60  # words between two runs, up to which single words are matched as well
_JUMP = 4  # utterances of the script that may be missing between two lines
_ALIGNED = 0.5  # of a line's words that the script must have, in one utterance

Utterance = tuple[str, str, int]  # who, what, and its number in the script: some between are not published
Script = list[Utterance]


class Gold(msgspec.Struct, frozen=True):
    """A subtitle with what its script says: True where somebody else begins to speak, None where it does not tell."""

    name: str
    film: str
    lines: tuple[Line, ...]
    changes: tuple[bool | None, ...]  # for each two lines that follow each other


def scripts(data: Path | None = None) -> dict[str, Script]:
    """Cornell's films: what is said, in the order of the script, and by whom."""
    found: dict[str, dict[int, Utterance]] = defaultdict(dict)
    for dialogue in corpora.load("cornell", data=data, faults=Faults()):
        ids = dialogue.meta["lines"]
        if len(ids) == len(dialogue.turns):
            for id_, turn in zip(ids, dialogue.turns, strict=True):
                number = int(id_.lstrip("L"))
                found[dialogue.meta["film"]][number] = (turn.speaker, turn.text, number)
    return {film: [said[number] for number in sorted(said)] for film, said in found.items()}


def words(text: str) -> list[str]:
    return _WORD.findall(text.lower().replace("’", "'"))


def _grams(texts: Sequence[str]) -> set[int]:
    said = [word for text in texts for word in words(text)]
    hashes = {crc32(" ".join(said[i : i + _GRAM]).encode()) for i in range(len(said) - _GRAM + 1)}
    return {number for number in hashes if number % _KEPT == 0}


def gold(
    paths: Sequence[Path], data: Path | None = None, step: Callable[[str], None] = lambda name: None
) -> list[Gold]:
    """Every subtitle whose film is in Cornell, known by its words, with the boundaries that the script tells."""
    known = scripts(data)
    holders: dict[int, list[str]] = defaultdict(list)
    for film, script in known.items():
        for number in _grams([text for _, text, _ in script]):
            holders[number].append(film)
    found = []
    for source in sources.find(paths):
        try:
            lines = sources.read(source).lines
        except Unreadable:
            continue
        step(source.name)
        grams = _grams([line.text for line in lines])
        films = Counter(film for number in grams for film in holders.get(number, ()))
        if not films:
            continue
        film, hits = films.most_common(1)[0]
        if hits >= _LEAST * len(grams) and hits > 25:
            changes = tuple(aligned(lines, known[film]))
            if len(changes) - changes.count(None) >= LEAST_TOLD:
                found.append(Gold(source.name, film, lines, changes))
    return found


def aligned(lines: Sequence[Line], script: Script) -> list[bool | None]:
    """What the script says of each boundary, by the words that both have in common, in order."""
    said = [(word, i) for i, line in enumerate(lines) for word in words(line.text)]
    written = [(word, i) for i, (_, text, _) in enumerate(script) for word in words(text)]
    where: list[Counter[int]] = [Counter() for _ in lines]
    for mine, theirs in _matches([word for word, _ in said], [word for word, _ in written]):
        where[said[mine][1]][written[theirs][1]] += 1
    sizes = Counter(i for _, i in said)
    utterances: list[int | None] = []
    for i, counts in enumerate(where):
        best, hits = counts.most_common(1)[0] if counts else (-1, 0)
        utterances.append(best if hits >= _ALIGNED * max(1, sizes[i]) else None)
    return [_told(script, one, other) for one, other in pairwise(utterances)]


def _told(script: Script, one: int | None, other: int | None) -> bool | None:
    if one is None or other is None:  # not in the script, or not published
        return None
    (who, _, number), (whom, _, next_number) = script[one], script[other]
    if one == other:
        return False
    if not 0 < next_number - number <= _JUMP:  # moved, or much was left out
        return None
    if who != whom:
        return True
    return False if next_number == number + 1 else None  # somebody may have spoken between


def _matches(mine: list[str], theirs: list[str]) -> list[tuple[int, int]]:
    """Places of words that both have, in one order: runs of three, which are rare, then what fits between them."""
    runs = [
        [" ".join(listed[i : i + 3]) for i in range(max(0, len(listed) - 2))] for listed in (mine, theirs)
    ]
    pairs: list[tuple[int, int]] = []
    a = b = 0  # what was matched ends here
    for block in SequenceMatcher(None, runs[0], runs[1], autojunk=False).get_matching_blocks():
        start, other = max(block.a, a), max(block.b, b)
        start, other = max(start, block.a + other - block.b), max(other, block.b + start - block.a)
        if 0 < start - a <= _BETWEEN and 0 < other - b <= _BETWEEN:
            small = SequenceMatcher(None, mine[a:start], theirs[b:other], autojunk=False)
            for inner in small.get_matching_blocks():
                pairs += [(a + inner.a + k, b + inner.b + k) for k in range(inner.size)]
        if block.size:
            length = block.a + block.size + 2 - start
            pairs += [(start + k, other + k) for k in range(length)]
            a, b = start + length, other + length
    return pairs


class Boundaries(msgspec.Struct, frozen=True):
    """Boundaries to learn from: what holds of each, and whether somebody else speaks."""

    layout: tuple[tuple[str, ...], ...]  # what only subtitles have; empty for scripts
    lexical: tuple[tuple[str, ...], ...]
    changes: tuple[bool, ...]


def from_subtitle(gold: Gold) -> Boundaries:
    shapes = [turns.shape(line) for line in gold.lines]
    film = turns.Film.of(gold.lines)
    told = [(i, change) for i, change in enumerate(gold.changes) if change is not None]
    return Boundaries(
        tuple(tuple(turns.layout(gold.lines, shapes, film, i)) for i, _ in told),
        tuple(tuple(turns.lexical(gold.lines, shapes, i)) for i, _ in told),
        tuple(change for _, change in told),
    )


def from_scripts(but_not: Sequence[str], data: Path | None = None, most: int = SCRIPTED) -> Boundaries:
    """Cornell's conversations as sentences: the boundaries within and between utterances, without layout.

    but_not: films that are measured on.
    """
    rows: list[tuple[str, ...]] = []
    changes: list[bool] = []
    left_out = set(but_not)
    for dialogue in corpora.load("cornell", data=data, faults=Faults()):
        # A part of the conversations, the same every time, spread over all films.
        if dialogue.meta["film"] in left_out or crc32(dialogue.id.encode()) % 8 > 2:
            continue
        spoken = [(who, part) for who, turn in enumerate(dialogue.turns) for part in srt.cut(turn.text)]
        lines = [Line(part) for _, part in spoken]
        shapes = [turns.shape(line) for line in lines]
        speakers = [dialogue.turns[who].speaker for who, _ in spoken]
        rows += [tuple(turns.lexical(lines, shapes, i)) for i in range(len(lines) - 1)]
        changes += [one != other for one, other in pairwise(speakers)]
        if len(rows) >= most:
            break
    return Boundaries((), tuple(rows), tuple(changes))


def train(scripted: Boundaries, aligned: Sequence[Boundaries]) -> tuple[dict[str, float], float]:
    """Feature → weight, and the bias: words are learned from scripts, what subtitles add from aligned ones.

    The first SVM's score is one feature of the second one, so both together are one sum of weights.
    """
    words_, start = _fitted([scripted.lexical], scripted.changes, _SCRIPT_STRENGTH, _SCRIPT_SEEN)
    scores = [start + sum(words_.get(name, 0.0) for name in row) for each in aligned for row in each.lexical]
    changes = [change for each in aligned for change in each.changes]
    rows = [[row for each in aligned for row in each.layout]]
    layout, bias = _fitted(rows, changes, _STRENGTH, SEEN, scores)
    times = layout.pop(_SCORE)
    for name, weight in words_.items():
        layout[name] = layout.get(name, 0.0) + times * weight
    kept = {name: round(weight, 3) for name, weight in sorted(layout.items()) if abs(weight) >= _SMALL}
    return kept, round(bias + times * start, 3)


_SCORE = "score by words"


def _fitted(
    parts: Sequence[Sequence[tuple[str, ...]]],
    changes: Sequence[bool],
    strength: float,
    seen: int,
    scores: Sequence[float] = (),
) -> tuple[dict[str, float], float]:
    """Weights by scikit-learn's LinearSVC over what holds or not, and one score beside it where there is one."""
    svm = need("sklearn.svm", "curate", "Training the turn segmenter")
    sparse = need("scipy.sparse", "curate", "Training the turn segmenter")
    if len(set(changes)) < 2:
        raise InvalidValue("there is nothing to learn: no boundaries of both kinds are known")
    rows = [row for part in parts for row in part]
    counts = Counter(name for row in rows for name in set(row))
    names = sorted(name for name, count in counts.items() if count >= seen)
    column = {name: i for i, name in enumerate(names)}
    placed = [sorted({column[name] for name in row if name in column}) for row in rows]
    starts = np.cumsum([0, *(len(row) for row in placed)])
    flat = np.array([i for row in placed for i in row], np.int32)
    table: Any = sparse.csr_matrix((np.ones(len(flat)), flat, starts), shape=(len(rows), len(names)))
    if scores:
        table = sparse.hstack([table, np.array(scores)[:, None]], format="csr")
        names = [*names, _SCORE]
    model = svm.LinearSVC(C=strength, random_state=0, dual=len(rows) < 20_000, max_iter=20_000)
    model.fit(table, np.array(changes))
    return dict(zip(names, model.coef_[0].tolist(), strict=True)), float(model.intercept_[0])


class Measured(msgspec.Struct, frozen=True):
    """Accuracy on films that were not trained on, with a 95 % interval by film."""

    accuracy: float
    low: float
    high: float
    majority: float  # the floor: always the commoner answer
    by_dash: float  # the other floor: somebody else speaks exactly where a dash or a name stands
    precision: float  # of "somebody else speaks"
    recall: float
    boundaries: int
    subtitles: int
    films: int
    by_film: dict[str, float]


def cross_validated(found: Sequence[Gold], scripted: Boundaries, folds: int = FOLDS) -> Measured:
    """Train on the films of the other folds, measure on these; all subtitles of a film are in one fold, and none of the
    films that are measured on is among the scripts."""
    films = sorted({each.film for each in found})
    if len(films) < folds:
        raise MissingData(
            f"{len(films)} of the subtitles' films are in Cornell; at least {folds} are needed to measure"
        )
    drawn = np.random.default_rng(0).permutation(len(films))
    fold_of = {films[place]: i % folds for i, place in enumerate(drawn)}
    made = [from_subtitle(each) for each in found]
    right: dict[str, list[bool]] = defaultdict(list)
    dashes: list[bool] = []
    table: Counter[tuple[bool, bool]] = Counter()
    for fold in range(folds):
        others = [one for one, each in zip(made, found, strict=True) if fold_of[each.film] != fold]
        weights, bias = train(scripted, others)
        for one, subtitle in zip(made, found, strict=True):
            if fold_of[subtitle.film] != fold:
                continue
            told = [i for i, change in enumerate(subtitle.changes) if change is not None]
            for i, *rows, change in zip(told, one.layout, one.lexical, one.changes, strict=True):
                guess = bias + sum(weights.get(name, 0.0) for row in rows for name in row) > 0
                table[guess, change] += 1
                right[subtitle.film].append(guess == change)
                after = subtitle.lines[i + 1]
                dashes.append((after.dash or bool(after.name)) == change)
    hits = np.array([[sum(right[film]), len(right[film])] for film in films], float)
    sums = weighted(draws(len(films)), hits)
    low, high = percentiles(sums[:, 0] / np.maximum(1, sums[:, 1]))
    total = table.total()
    changed = table[True, True] + table[False, True]
    return Measured(
        accuracy=(table[True, True] + table[False, False]) / total,
        low=low,
        high=high,
        majority=max(changed, total - changed) / total,
        by_dash=sum(dashes) / total,
        precision=table[True, True] / max(1, table[True, True] + table[True, False]),
        recall=table[True, True] / max(1, changed),
        boundaries=total,
        subtitles=len(found),
        films=len(films),
        by_film={film: sum(right[film]) / max(1, len(right[film])) for film in films},
    )


def save(folder: Path, weights: dict[str, float], bias: float, measured: Measured) -> None:
    """The weights and their card, as they ship."""
    with writing(folder / "weights.json") as file:
        file.write(msgspec.json.format(msgspec.json.encode({"": bias, **weights}), indent=0).decode() + "\n")
    with writing(folder / "README.md") as file:
        file.write(card(weights, measured))


def card(weights: dict[str, float], measured: Measured) -> str:
    worst, best = (pick(measured.by_film.values()) for pick in (min, max))
    return f"""# turns

Does somebody else begin to speak between two lines of a subtitle? A linear SVM of {len(weights):,} features that hold or do
not (heartfelt/curation/turns.py): a score is a sum of weights, and above zero somebody else speaks.

Words were learned from the scripts of the Cornell movie dialogues (sentences within and between utterances, films that
are measured on left out), what subtitles add (times, blocks, dashes, names, italics) from {measured.subtitles} subtitles of {measured.films}
of its films, aligned word by word. `heartfelt curate turns SUBTITLES… --save FOLDER` makes it again.

On films that were not trained on ({FOLDS} folds by film, {measured.boundaries:,} boundaries): accuracy {_figure(measured.accuracy)}
[{_figure(measured.low)}, {_figure(measured.high)}] (95 %, by film; from {_figure(worst)} to {_figure(best)}), precision {_figure(measured.precision)}, recall {_figure(measured.recall)}.
Always the commoner answer: {_figure(measured.majority)}. A dash or a name alone: {_figure(measured.by_dash)}. meed2 reports {_figure(MEED2)} on data of its own.

What it gets wrong: speakers who change without a question, a dash or a pause; monologues with questions in them; three
people, whom dialogues then hold for two. Boundaries are only known where film and script agree, which are the plainer ones.

Cornell's corpus is for research.
"""  # noqa: E501


def _figure(value: float) -> str:
    return f"{value:.4f}".lstrip("0")
