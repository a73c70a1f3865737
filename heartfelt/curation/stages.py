"""The stages of curation. Each is a function of a shard, or of all shards where films are compared.

read      files → lines; what is broken is quarantined      a shard
choose    one subtitle a film, the rest named with reasons   all
cut       lines → turns → clean dialogues                    a shard
unique    which dialogues were there before                  all
label     41 labels a turn, emotionality                     a shard
select    the most emotional ones                            all
write     the corpus: emotional ones and the others          a shard
"""

from collections import Counter, defaultdict
from collections.abc import Callable, Sequence
from hashlib import blake2b
from pathlib import Path
from typing import Any

import msgspec
import numpy as np

from heartfelt.corpora import own
from heartfelt.corpora.near_duplicates import NEAR
from heartfelt.curation import dialogues, duplicates, labelling, rivals, sources, turns
from heartfelt.curation.language import language
from heartfelt.curation.shards import File, Work, read_json
from heartfelt.curation.subtitle import Unreadable
from heartfelt.dialogue import Dialogue
from heartfelt.files import writing

SPLITS = {"train": 8, "valid": 1, "test": 1}  # of ten films; meed2 draws dialogues, which leaks films
OTHERS = "others"


class Settings(msgspec.Struct, frozen=True):
    """What decides the result. Another value is another corpus, so a run is resumed with the same ones only."""

    cleaning: dialogues.Cleaning = dialogues.Cleaning()
    min_lines: int = 50  # fewer lines are a trailer or a fragment
    files_a_shard: int = 50
    near: float = NEAR  # from this likeness on a dialogue was there before
    top: float = 0.25  # the most emotional: a share below 1, as meed2's 1M of 4M, or a number
    audit: int = 100  # dialogues for people to check
    segmenter: str = ""  # folder of another one than the shipped
    encoder: str = ""


class Task(msgspec.Struct, frozen=True):
    """What a worker must know: where the run lies, and how it is set up."""

    out: str
    settings: Settings
    shards: int

    @property
    def work(self) -> Work:
        return Work(Path(self.out) / "work")


def read(task: Task, shard: int) -> dict[str, Any]:
    listed = msgspec.convert(read_json(task.work.path("plan", shard, ".json")), list[sources.Source])
    counts: Counter[str] = Counter()
    files, quarantined = [], []
    for source in listed:
        counts["files"] += 1
        try:
            subtitle = sources.read(source)
        except Unreadable as problem:
            quarantined.append([source.name, str(problem)])
            continue
        except Exception as problem:  # a defect of ours must not stop a run of days; it is named as one
            quarantined.append([source.name, f"defect: {type(problem).__name__}: {problem}"[:300]])
            continue
        counts["readable files"] += 1
        counts["lines"] += len(subtitle.lines)
        counts["blocks"] += subtitle.blocks
        for what, count in subtitle.removed.items():
            counts[f"removed: {what}"] += count
        rival = rivals.Rival(source.name, source.film, rivals.quality(subtitle), rivals.sketch(subtitle))
        files.append(File(rival, language(line.text for line in subtitle.lines), subtitle.lines))
    task.work.write_files(shard, files)
    return {**counts, "quarantined": quarantined}


def choose(task: Task) -> dict[str, Any]:
    """Writes the taken files of each shard (name → film), and what became of the rest."""
    counts: Counter[str] = Counter()
    shard_of: dict[str, int] = {}
    able, told = [], []
    for shard in range(task.shards):
        for rival, spoken in task.work.rivals(shard):
            shard_of[rival.name] = shard
            if spoken not in ("en", ""):
                told.append([rival.name, "", "not English" + (f": {spoken}" if spoken != "?" else "")])
                counts["not English"] += 1
            elif rival.quality.lines < task.settings.min_lines:
                told.append([rival.name, "", f"only {rival.quality.lines} lines: a trailer or a fragment"])
                counts["fragments"] += 1
            else:
                able.append(rival)
    taken: dict[int, dict[str, str]] = defaultdict(dict)
    for choice in rivals.choose(able):
        counts["taken" if choice.taken else "rivals left"] += 1
        if choice.taken:
            taken[shard_of[choice.name]][choice.name] = choice.film
        if choice.reason != rivals.ALONE:
            told.append([choice.name, choice.film if choice.taken else "", choice.reason])
    for shard in range(task.shards):
        task.work.finish("choose", shard, taken[shard])
    with writing(Path(task.out) / "choices.tsv") as file:
        file.write("file\ttaken as film\treason\n")
        file.writelines("\t".join(row) + "\n" for row in sorted(told))
    return dict(counts)


def cut(task: Task, shard: int) -> dict[str, Any]:
    chosen = task.work.counts("choose", shard)
    folder = task.settings.segmenter
    segmenter = turns.Segmenter.load(Path(folder)) if folder else turns.shipped()
    counts: Counter[str] = Counter()
    made: list[Dialogue] = []
    for name, lines in task.work.lines(shard):
        if name in chosen:
            counts["films"] += 1
            made += dialogues.of_film(name, chosen[name], lines, segmenter, task.settings.cleaning, counts)
    task.work.write_dialogues("cut", shard, made)
    task.work.write_array("cut", shard, duplicates.signed(made))
    return dict(counts)


def unique(task: Task) -> dict[str, Any]:
    stored = duplicates.Stored([task.work.path("cut", shard, ".npy") for shard in range(task.shards)])
    twins = duplicates.twins(stored, task.settings.near)
    # A film's dialogues lie side by side, so where a film begins is enough to know who shares it.
    films = np.concatenate([_films(task, shard) for shard in range(task.shards)] or [np.zeros(0, np.uint64)])
    again = twins >= 0
    inside = int((films[again] == films[twins[again]]).sum())
    for shard in range(task.shards):
        task.work.write_array("unique", shard, ~again[stored.starts[shard] : stored.starts[shard + 1]])
    return {
        "dialogues": len(twins),
        "again in the same film": inside,
        "again in another film": int(again.sum()) - inside,
    }


def _films(task: Task, shard: int) -> np.ndarray:
    return np.array([_hash(d.meta["film"]) for d in task.work.dialogues("cut", shard)], np.uint64)


def _hash(text: str) -> int:
    return int.from_bytes(blake2b(text.encode(), digest_size=8).digest(), "big")


def label(task: Task, shard: int) -> dict[str, Any]:
    folder = task.settings.encoder
    kept = task.work.array("unique", shard)
    chosen = [d for d, keep in zip(task.work.dialogues("cut", shard), kept, strict=True) if keep]
    made = labelling.labelled(chosen, Path(folder) if folder else labelling.ENCODER)
    task.work.write_dialogues("label", shard, made)
    task.work.write_array("label", shard, np.array([d.meta["emotionality"] for d in made], np.float32))
    return {"dialogues": len(made), "turns": sum(len(d.turns) for d in made)}


def select(task: Task) -> dict[str, Any]:
    paths = [task.work.path("label", shard, ".npy") for shard in range(task.shards)]
    sizes = [task.work.counts("label", shard)["dialogues"] for shard in range(task.shards)]
    wanted = task.settings.top
    k = round(wanted * sum(sizes)) if wanted < 1 else int(wanted)
    mask = np.zeros(sum(sizes), bool)
    mask[labelling.top(labelling.streamed(paths), k)] = True
    starts = np.cumsum([0, *sizes])
    for shard in range(task.shards):
        task.work.write_array("select", shard, mask[starts[shard] : starts[shard + 1]])
    return {"dialogues": len(mask), "emotional": int(mask.sum())}


def write(task: Task, shard: int) -> dict[str, Any]:
    """The corpus' files of this shard, and the statistics of the card."""
    mask = task.work.array("select", shard)
    by_file: dict[Path, list[Dialogue]] = defaultdict(list)
    statistics = {"all": Counter[str](), "emotional": Counter[str]()}
    audit: list[tuple[int, str]] = []
    for dialogue, emotional in zip(task.work.dialogues("label", shard), mask, strict=True):
        place = Path(task.out) if emotional else Path(task.out) / OTHERS
        name = f"{split_of(dialogue.meta['film'])}-{shard:05d}-of-{task.shards:05d}.parquet"
        by_file[place / name].append(dialogue)
        for which in ("all", "emotional") if emotional else ("all",):
            _add(statistics[which], dialogue)
        if emotional:
            audit.append((_hash(dialogue.id), dialogue.to_json()))
    for path, listed in by_file.items():
        with writing(path, "wb") as file:
            own.write(listed, file, ".parquet")
    return {**statistics, "audit": sorted(audit)[: task.settings.audit]}


def split_of(film: str) -> str:
    """By the film, so that no film is in two splits, and the same whatever else is curated."""
    place = _hash(film) % sum(SPLITS.values())
    for split, tenths in SPLITS.items():
        if place < tenths:
            return split
        place -= tenths
    raise AssertionError("the shares of the splits cover all films")


def _add(statistics: Counter[str], dialogue: Dialogue) -> None:
    statistics["dialogues"] += 1
    statistics["turns"] += len(dialogue.turns)
    statistics["tokens"] += sum(len(dialogues.tokens(turn.text)) for turn in dialogue.turns)
    statistics["thousandths of emotionality"] += round(1000 * dialogue.meta["emotionality"])
    statistics[f"{min(len(dialogue.turns), 10)} turns"] += 1
    statistics[f"last: {dialogue.turns[-1].label}"] += 1
    for turn in dialogue.turns:
        statistics[f"any: {turn.label}"] += 1


class Stage(msgspec.Struct, frozen=True):
    name: str
    does: str
    run: Callable[..., dict[str, Any]]
    whole: bool = False  # over all shards at once


STAGES: tuple[Stage, ...] = (
    Stage("read", "reading files", read),
    Stage("choose", "choosing among rivals", choose, whole=True),
    Stage("cut", "finding turns and dialogues", cut),
    Stage("unique", "looking for doubles", unique, whole=True),
    Stage("label", "labelling turns", label),
    Stage("select", "selecting the most emotional", select, whole=True),
    Stage("write", "writing the corpus", write),
)


def totals(counts: Sequence[dict[str, Any]]) -> Counter[str]:
    """The sum of the shards' counts; lists and tables are left out."""
    found: Counter[str] = Counter()
    for each in counts:
        found.update({name: value for name, value in each.items() if isinstance(value, int)})
    return found
