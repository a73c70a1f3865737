"""Who does the work of a stage: this process, several, or the machines of a Ray cluster.

A shard is one task, in either engine: what it gives depends on its input alone, so the engines agree to the byte.
"""

import multiprocessing
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import ProcessPoolExecutor, as_completed
from typing import Any

import msgspec

from heartfelt.curation.stages import STAGES, Task
from heartfelt.errors import UnknownName, need

Done = tuple[int, dict[str, Any]]  # shard, what was counted
Engine = Callable[[str, Task, Sequence[int], int], Iterator[Done]]

_STAGES = {stage.name: stage for stage in STAGES}


def run_shard(stage: str, task: Task, shard: int) -> dict[str, Any]:
    """One shard of one stage. Its counts are written last: they say that it is done."""
    counts = _STAGES[stage].run(task, shard)
    task.work.finish(stage, shard, counts)
    return counts


def local(stage: str, task: Task, shards: Sequence[int], workers: int) -> Iterator[Done]:
    if workers <= 1 or len(shards) < 2:
        for shard in shards:
            yield shard, run_shard(stage, task, shard)
        return
    # Fresh processes: a fork would copy the threads of onnxruntime in no known state.
    context = multiprocessing.get_context("spawn")
    with ProcessPoolExecutor(min(workers, len(shards)), mp_context=context) as pool:
        waiting = {pool.submit(run_shard, stage, task, shard): shard for shard in shards}
        try:
            for done in as_completed(waiting):
                yield waiting[done], done.result()
        except BaseException:
            pool.shutdown(cancel_futures=True)
            raise


class Actor:
    """A worker of Ray's that lives for a stage, so that the labeller is loaded once."""

    def __init__(self, stage: str, task: bytes) -> None:
        self._stage = stage
        self._task = msgspec.json.decode(task, type=Task)

    def __call__(self, row: dict[str, Any]) -> dict[str, Any]:
        counts = run_shard(self._stage, self._task, int(row["shard"]))
        return {"shard": int(row["shard"]), "counts": msgspec.json.encode(counts).decode()}


def ray(stage: str, task: Task, shards: Sequence[int], workers: int) -> Iterator[Done]:
    """Ray Data over the shards. OUT must be a folder that all machines see."""
    need("ray", "ray", "The engine ray")
    data = need("ray.data", "ray", "The engine ray")
    rows = data.from_items([{"shard": shard} for shard in shards], override_num_blocks=len(shards))
    done = rows.map(
        Actor, fn_constructor_args=(stage, msgspec.json.encode(task)), concurrency=min(workers, len(shards))
    )
    for row in done.iter_rows():
        yield int(row["shard"]), msgspec.json.decode(row["counts"])


ENGINES: dict[str, Engine] = {"local": local, "ray": ray}


def engine(name: str) -> Engine:
    if name not in ENGINES:
        raise UnknownName("engine", name, ENGINES)
    return ENGINES[name]
