"""From subtitle files to a corpus: `curate(paths, out)` runs the stages and writes the card.

OUT is a corpus of ours (train-…, valid-…, test-….parquet: the emotional dialogues), the other dialogues in others/, a
card (README.md), manifest.json, choices.tsv, quarantine.tsv, audit.csv, and what the stages handed on in work/.
"""

import csv
import shutil
import time
from collections.abc import Callable, Sequence
from itertools import chain
from pathlib import Path
from typing import Any

import msgspec

import heartfelt
from heartfelt.curation import card, sources, stages, turns
from heartfelt.curation.engines import engine as engine_called
from heartfelt.curation.labelling import ENCODER
from heartfelt.curation.shards import Work, read_json, write_json
from heartfelt.curation.stages import STAGES, Settings, Stage, Task
from heartfelt.dialogue import Dialogue
from heartfelt.errors import InvalidValue, need
from heartfelt.files import sha256, writing

Tell = Callable[[str, int, int], None]  # stage, shards done, of how many


def curate(
    paths: Sequence[Path],
    out: Path,
    settings: Settings | None = None,
    *,
    engine: str = "local",
    workers: int = 1,
    resume: bool = False,
    tell: Tell = lambda stage, done, total: None,
    finished: Callable[[Stage, dict[str, Any], float], None] = lambda stage, counts, seconds: None,
) -> dict[str, dict[str, Any]]:
    """Run all stages; returns stage → counts. A finished shard is never done again.

    tell: hears how far a stage is; finished: its counts and seconds, when it ends.
    """
    need("pyarrow", "curate", "Curation")
    run = engine_called(engine)
    task = _planned(paths, out, settings or Settings(), resume, tell)
    counted: dict[str, dict[str, Any]] = {}
    for stage in STAGES:
        started = time.perf_counter()
        if stage.whole:
            _whole(stage, task, tell)
            found = [task.work.counts(stage.name, task.shards)]
        else:
            todo = [shard for shard in range(task.shards) if not task.work.done(stage.name, shard)]
            done = task.shards - len(todo)
            tell(stage.does, done, task.shards)
            for done, _ in enumerate(run(stage.name, task, todo, workers), start=done + 1):  # noqa: B020
                tell(stage.does, done, task.shards)
            found = [task.work.counts(stage.name, shard) for shard in range(task.shards)]
        counted[stage.name] = dict(sorted(stages.totals(found).items()))
        finished(stage, counted[stage.name], time.perf_counter() - started)
    _finish(task, counted)
    return counted


def _whole(stage: Stage, task: Task, tell: Tell) -> None:
    """A stage over all shards: its counts stand behind those of the shards, and say that it is done."""
    tell(stage.does, 0, 1)
    if not task.work.done(stage.name, task.shards):
        task.work.finish(stage.name, task.shards, stage.run(task))
    tell(stage.does, 1, 1)


def _planned(paths: Sequence[Path], out: Path, settings: Settings, resume: bool, tell: Tell) -> Task:
    """Which files go into which shard; of a run that goes on, as it was planned."""
    run = {
        "inputs": [str(path.resolve()) for path in paths],
        "settings": msgspec.to_builtins(settings),
        "heartfelt": heartfelt.__version__,
        "segmenter": sha256(
            (Path(settings.segmenter) if settings.segmenter else turns.FOLDER) / "weights.json"
        ),
        "encoder": sha256((Path(settings.encoder) if settings.encoder else ENCODER) / "encoder.onnx"),
    }
    work = Work(out / "work")
    planned = out / "work" / "run.json"
    if planned.exists():
        if not resume:
            raise InvalidValue(
                f"{out} holds a run already: add --resume to go on with it, or name another folder"
            )
        before = read_json(planned)
        if changed := [name for name in run if run[name] != before.get(name)]:
            raise InvalidValue(
                f"{out} was begun with other {' and '.join(changed)}: go on as it was begun, or name another folder"
            )
        for left in out.rglob(".*.part"):  # what was being written when the run was killed
            left.unlink()
        return Task(str(out), settings, before["shards"])
    if out.exists() and (not out.is_dir() or any(path.name != "work" for path in out.iterdir())):
        raise InvalidValue(f"{out} is there already and no run of ours; name another folder")
    shutil.rmtree(out / "work", ignore_errors=True)  # a plan that was killed while it was made
    tell("listing files", 0, 1)
    listed = sources.find(paths)
    size = settings.files_a_shard
    parts = [listed[i : i + size] for i in range(0, len(listed), size)]
    for shard, part in enumerate(parts):
        work.finish("plan", shard, msgspec.to_builtins(part))
    write_json(planned, {**run, "shards": len(parts), "files": len(listed)})
    tell("listing files", 1, 1)
    return Task(str(out), settings, len(parts))


def _finish(task: Task, counted: dict[str, dict[str, Any]]) -> None:
    """The files for people: quarantine, audit, card, manifest."""
    out = Path(task.out)
    shards = range(task.shards)
    with writing(out / "quarantine.tsv") as file:
        file.write("file\treason\n")
        for shard in shards:
            for name, reason in task.work.counts("read", shard)["quarantined"]:
                file.write(f"{name}\t{' '.join(reason.split())}\n")
    written = [task.work.counts("write", shard) for shard in shards]
    drawn = sorted(chain.from_iterable(each["audit"] for each in written))[: task.settings.audit]
    _audit(out / "audit.csv", [Dialogue.from_json(text) for _, text in drawn])
    statistics = {
        which: dict(sorted(stages.totals([each[which] for each in written]).items()))
        for which in ("all", "emotional")
    }
    run = read_json(task.work.folder / "run.json")
    run.pop("inputs")  # machine paths stay in work/
    files = sorted(path for path in out.rglob("*.parquet") if "work" not in path.relative_to(out).parts)
    write_json(
        out / "manifest.json",
        {
            "run": run,
            "stages": counted,
            "statistics": statistics,
            "files": {path.relative_to(out).as_posix(): sha256(path) for path in files},
        },
    )
    with writing(out / "README.md") as file:
        file.write(card.page(run, counted, statistics))


def _audit(path: Path, dialogues: Sequence[Dialogue]) -> None:
    """A sheet for people: every turn with its label, and empty columns for their judgement."""
    with writing(path) as file:
        rows = csv.writer(file, lineterminator="\n")
        rows.writerow(
            ["dialogue", "turn", "speaker", "text", "label", "emotionality",
             "somebody else speaks? (y/n)", "belongs to this dialogue? (y/n)", "label right? (y/n, or the right one)"]
        )  # fmt: skip
        for dialogue in dialogues:
            for i, turn in enumerate(dialogue.turns):
                value = dialogue.meta["by_turn"][i]
                rows.writerow([dialogue.id, i, turn.speaker, turn.text, turn.label, value, "", "", ""])
