"""What happens along the way of a training: a line logged, the best state kept, a checkpoint saved by the clock."""

import json
import os
import shutil
import time
from pathlib import Path
from typing import Any

import torch
from safetensors.torch import load_file, save_file
from transformers import PreTrainedModel, TrainerCallback, TrainerControl, TrainerState

from heartfelt.files import writing

LOWER = ("loss", "ppl")  # metrics of which less is better


class Log(TrainerCallback):
    """metrics.jsonl: a line a step. A resumed run first drops the lines that it will write again."""

    def __init__(self, folder: Path) -> None:
        self._path = folder / "metrics.jsonl"

    def on_train_begin(self, args: Any, state: TrainerState, control: TrainerControl, **_: Any) -> None:
        if not state.is_world_process_zero:
            return
        kept = []
        if self._path.exists():
            # The last line may be cut off, if the run was killed while writing it.
            lines = [line for line in self._path.read_text().splitlines(keepends=True) if line.endswith("\n")]
            kept = [line for line in lines if json.loads(line)["step"] <= state.global_step]
        self._path.write_text("".join(kept))

    def on_log(
        self, args: Any, state: TrainerState, control: TrainerControl, logs: Any = None, **_: Any
    ) -> None:
        timing = ("runtime", "per_second", "total_flos", "epoch")
        values = {key: value for key, value in (logs or {}).items() if not key.endswith(timing)}
        if state.is_world_process_zero and "train_loss" not in values:
            with self._path.open("a") as file:
                file.write(json.dumps({"step": state.global_step, **values}) + "\n")


class BestKeeper(TrainerCallback):
    """Keeps the best state by the valid metric, and stops when patience is out."""

    def __init__(self, folder: Path, metric: str, patience: int | None) -> None:
        self._states, self._record = folder / "best.safetensors", folder / "best.json"
        self._metric, self._patience = metric, patience
        self._seen: list[tuple[int, float]] = []  # (step, value) of every evaluation; smaller is better

    @property
    def best_step(self) -> int:
        return min(self._seen, key=lambda seen: (seen[1], seen[0]))[0] if self._seen else 0

    def on_train_begin(self, args: Any, state: TrainerState, control: TrainerControl, **_: Any) -> None:
        if self._record.exists():
            self._seen = [(s, v) for s, v in json.loads(self._record.read_text()) if s <= state.global_step]

    def on_evaluate(
        self,
        args: Any,
        state: TrainerState,
        control: TrainerControl,
        metrics: Any = None,
        model: Any = None,
        **_: Any,
    ) -> None:
        value = metrics[f"eval_{self._metric}"]
        self._seen.append((state.global_step, value if self._metric in LOWER else -value))
        if state.is_world_process_zero:
            if self.best_step == state.global_step:
                # What stays frozen need not be kept.
                states = {n: p.detach().contiguous() for n, p in model.named_parameters() if p.requires_grad}
                states |= {name: tensor.contiguous() for name, tensor in model.named_buffers()}
                save_file(states, self._states.with_suffix(".part"))
                self._states.with_suffix(".part").replace(self._states)
            with writing(self._record) as file:
                json.dump(self._seen, file)
        since = sum(step > self.best_step for step, _ in self._seen)
        if self._patience is not None and since >= self._patience:
            control.should_training_stop = True

    def restore(self, model: PreTrainedModel) -> None:
        model.load_state_dict(load_file(self._states), strict=False)

    def remove(self) -> None:
        self._states.unlink()
        self._record.unlink()


class Checkpoints(TrainerCallback):
    """Saves by the clock. Of several processes the first one decides, so that all save at the same step."""

    def __init__(self, minutes: float) -> None:
        self._seconds = 60 * minutes
        self._last = time.monotonic()

    def on_step_end(self, args: Any, state: TrainerState, control: TrainerControl, **_: Any) -> None:
        due = torch.tensor([float(time.monotonic() - self._last >= self._seconds)])
        if world_size() > 1:
            torch.distributed.broadcast(due, src=0)
        if due.item():
            control.should_save = True
            self._last = time.monotonic()


class Minutes(TrainerCallback):
    """Counts training time over all sittings of a run."""

    def __init__(self, folder: Path) -> None:
        self._path = folder / "checkpoints" / "minutes.json"
        self._before = json.loads(self._path.read_text()) if self._path.exists() else 0.0
        self._started = time.monotonic()

    def spent(self) -> float:
        minutes: float = self._before + (time.monotonic() - self._started) / 60
        return minutes

    def on_save(self, args: Any, state: TrainerState, control: TrainerControl, **_: Any) -> None:
        if state.is_world_process_zero:
            with writing(self._path) as file:
                json.dump(self.spent(), file)


def last_checkpoint(folder: Path) -> str | None:
    """The newest checkpoint that is whole: the trainer's state is the last thing that is written of one."""
    found = []
    for path in (folder / "checkpoints").glob("checkpoint-*"):
        try:
            step = json.loads((path / "trainer_state.json").read_text())["global_step"]
            found.append((step, str(path)))
        except (OSError, ValueError, KeyError):
            shutil.rmtree(path, ignore_errors=True)  # cut off by a kill
    return max(found)[1] if found else None


def first_process() -> bool:
    return os.environ.get("RANK", "0") == "0"


def world_size() -> int:
    """How many processes there are; torchrun says so before they have met."""
    return int(os.environ.get("WORLD_SIZE", "1"))
