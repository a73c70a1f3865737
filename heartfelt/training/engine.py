"""The engine: transformers' Trainer with length buckets, the best state kept, and resume to the bit.

`train(recipe, folder)` is all that a caller needs. Called again on the same folder, it goes on from the last whole
checkpoint, or returns what was measured if the run is finished. Under torchrun every process calls it.
"""

import hashlib
import json
import os
import shutil
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np
import torch
from safetensors.torch import load_file, save_file
from torch import Tensor
from torch.utils.data import Dataset, Sampler
from transformers import (
    PreTrainedModel,
    Trainer,
    TrainerCallback,
    TrainerControl,
    TrainerState,
    TrainingArguments,
)
from transformers import PreTrainedTokenizerBase as Tokenizer
from transformers.trainer_utils import EvalPrediction, set_seed

from heartfelt.models import module_of
from heartfelt.models.backbone import separator
from heartfelt.models.heads import UNLABELLED
from heartfelt.recipe import BadRecipe, Recipe, fill
from heartfelt.training.batches import LengthBuckets, padded
from heartfelt.training.run import Run, environment, open_run, write_card
from heartfelt.training.tasks import Item, Task, find

Encode = Callable[[Item], dict[str, Any]]


def train(
    recipe: Recipe, folder: Path, data: Path | None = None, watch: TrainerCallback | None = None
) -> dict[str, Any]:
    """Train what a recipe says into a run folder; returns its results. `watch` is called along the way."""
    task, (model, tokenizer) = find(recipe.task), _build(recipe)
    run = open_run(folder, recipe)
    if run.results is not None:
        return run.results
    encode = encoder(tokenizer, task, recipe)
    splits = {split: list(task.read(split, data)) for split in ("train", "valid", "test")}
    learner = _Learner(run, recipe, task, model, tokenizer, splits, encode)
    return learner.learn(watch)


def _build(recipe: Recipe) -> tuple[PreTrainedModel, Tokenizer]:
    module = module_of(recipe.model)
    settings, problems = fill(module.Settings, recipe.settings, "settings.")
    task = find(recipe.task)
    metrics = ("loss", *(f"{head}_accuracy" for head in task.heads))
    if recipe.training.metric not in metrics:
        problems.append(f"training.metric is one of {', '.join(metrics)}, not {recipe.training.metric}")
    if problems:
        raise BadRecipe("; ".join(problems))
    set_seed(recipe.training.seed)  # before the heads are drawn
    built: tuple[PreTrainedModel, Tokenizer] = module.build(
        settings, {head: len(labels) for head, labels in task.heads.items()}
    )
    return built


def encoder(tokenizer: Tokenizer, task: Task, recipe: Recipe) -> Encode:
    """How an item becomes tokens and label ids."""
    between, suffix = separator(tokenizer), recipe.settings.get("suffix", "")
    limit = recipe.settings.get("max_tokens", 128)
    ids = {head: {label: i for i, label in enumerate(labels)} for head, labels in task.heads.items()}

    def encode(item: Item) -> dict[str, Any]:
        text = between.join(item.turns) + suffix
        tokens = tokenizer(text, truncation=True, max_length=limit)["input_ids"]
        labels = [ids[head].get(item.labels.get(head, ""), UNLABELLED) for head in ids]
        return {"input_ids": tokens, "labels": labels}

    return encode


class Encoded(Dataset[dict[str, Any]]):
    """Items as tokens, the longest first: evaluation then pads little and fails early if memory is short."""

    def __init__(self, items: Sequence[Item], encode: Encode, sort: bool) -> None:
        examples = [(item, encode(item)) for item in items]
        if sort:
            examples.sort(key=lambda pair: -len(pair[1]["input_ids"]))
        self.items = [item for item, _ in examples]
        self._examples = [example for _, example in examples]

    def __len__(self) -> int:
        return len(self._examples)

    def __getitem__(self, index: int) -> dict[str, Any]:
        return self._examples[index]

    @property
    def lengths(self) -> list[int]:
        return [len(example["input_ids"]) for example in self._examples]


@dataclass
class _Learner:
    run: Run
    recipe: Recipe
    task: Task
    model: PreTrainedModel
    tokenizer: Tokenizer
    splits: dict[str, list[Item]]
    encode: Encode

    def learn(self, watch: TrainerCallback | None) -> dict[str, Any]:
        training, folder = self.recipe.training, self.run.folder
        watched = self.splits["valid"]
        if training.evaluate_on and training.evaluate_on < len(watched):
            chosen = np.random.default_rng(training.seed).permutation(len(watched))[: training.evaluate_on]
            watched = [watched[i] for i in sorted(chosen.tolist())]
        self.keeper = _BestKeeper(folder, training.metric, training.patience)
        self.trainer = _Trainer(
            recipe=self.recipe,
            model=self.model,
            args=self._arguments(),
            data_collator=partial(padded, pad_id=int(self.tokenizer.pad_token_id or 0)),
            train_dataset=Encoded(self.splits["train"], self.encode, sort=False),
            eval_dataset=Encoded(watched, self.encode, sort=True),
            compute_metrics=self._accuracies,
        )
        minutes = _Minutes(folder)
        ours = (_Log(folder), self.keeper, _Checkpoints(training.checkpoint_minutes), minutes)
        for callback in (*ours, *([watch] if watch else [])):
            self.trainer.add_callback(callback)
        self.trainer.train(resume_from_checkpoint=last_checkpoint(folder))
        self.keeper.restore(self.model)
        return self._finish(minutes)

    def _arguments(self) -> TrainingArguments:
        t, processes = self.recipe.training, _world_size()
        if t.batch_size % processes:
            raise BadRecipe(f"training.batch_size {t.batch_size} does not divide by {processes} processes")
        steps = t.max_steps or -(-len(self.splits["train"]) // t.batch_size) * t.epochs
        return TrainingArguments(
            output_dir=str(self.run.folder / "checkpoints"),
            num_train_epochs=t.epochs,
            max_steps=t.max_steps or -1,
            per_device_train_batch_size=t.batch_size // processes,
            per_device_eval_batch_size=64,
            learning_rate=t.learning_rate,
            lr_scheduler_type="linear",
            warmup_steps=round(t.warmup_share * steps),
            weight_decay=t.weight_decay,
            max_grad_norm=t.clip,
            seed=t.seed,
            logging_steps=1,  # a sum over several steps could not be resumed to the bit
            eval_strategy="steps",
            eval_steps=t.evaluate_every,
            save_strategy="no",  # _Checkpoints saves by the clock
            save_total_limit=2,
            report_to=[],
            remove_unused_columns=False,
            label_names=["labels"],
            bf16=False,  # never on by default: on some CPUs AMX dies with "Illegal instruction"
            use_cpu=not torch.cuda.is_available(),
            dataloader_pin_memory=False,
            ddp_find_unused_parameters=False,
            disable_tqdm=False,
        )

    def _accuracies(self, predicted: EvalPrediction) -> dict[str, float]:
        found = {}
        for head, logits, labels in self._by_head(
            np.asarray(predicted.predictions), np.asarray(predicted.label_ids)
        ):
            known = labels != UNLABELLED
            if known.any():
                found[f"{head}_accuracy"] = float((logits[known].argmax(-1) == labels[known]).mean())
        return found

    def _by_head(self, logits: np.ndarray, labels: np.ndarray) -> list[tuple[str, np.ndarray, np.ndarray]]:
        sizes = [len(names) for names in self.task.heads.values()]
        parts = np.split(logits, np.cumsum(sizes)[:-1], axis=-1)
        return [
            (head, part, labels[:, i])
            for i, (head, part) in enumerate(zip(self.task.heads, parts, strict=True))
        ]

    def _finish(self, minutes: "_Minutes") -> dict[str, Any]:
        """Predict valid and test, write everything that a run folder holds."""
        scores: dict[str, Any] = {}
        for split in ("valid", "test"):
            dataset = Encoded(self.splits[split], self.encode, sort=True)
            predicted = self.trainer.predict(dataset, metric_key_prefix=split)  # type: ignore[arg-type]
            scores[split] = {
                name.removeprefix(f"{split}_"): value for name, value in (predicted.metrics or {}).items()
            }
            if self.trainer.is_world_process_zero():
                self._write_predictions(split, dataset, predicted.predictions, predicted.label_ids)
        results = {
            "task": self.task.name,
            "model": self.recipe.model,
            "scores": {
                s: {k: v for k, v in m.items() if k.endswith(("accuracy", "loss"))} for s, m in scores.items()
            },
            "best_step": self.keeper.best_step,
            "parameters": sum(p.numel() for p in self.model.parameters()),
            "minutes": round(minutes.spent(), 1),
            "items": {split: len(items) for split, items in self.splits.items()},
            "recipe": self.recipe.hash(),
            "data": data_hash(self.splits),
            "environment": environment(),
        }
        if self.trainer.is_world_process_zero():
            self.model.save_pretrained(self.run.folder / "model")
            self.tokenizer.save_pretrained(self.run.folder / "model")
            self.run.write("labels.json", {head: list(labels) for head, labels in self.task.heads.items()})
            write_card(self.run, self.recipe, self.task.what, results)
            self.run.write("results.json", results)
            shutil.rmtree(self.run.folder / "checkpoints", ignore_errors=True)
            self.keeper.remove()
        return results

    def _write_predictions(self, split: str, dataset: Encoded, logits: Any, labels: Any) -> None:
        path = self.run.folder / "predictions" / f"{split}.npz"
        path.parent.mkdir(exist_ok=True)
        np.savez_compressed(
            path,
            ids=[item.id for item in dataset.items],
            logits=np.asarray(logits, np.float16),
            labels=labels,
        )


class _Trainer(Trainer):
    """Trainer with our order of examples, and a learning rate of its own for what is not pretrained."""

    def __init__(self, recipe: Recipe, **arguments: Any) -> None:
        self._recipe = recipe
        super().__init__(**arguments)

    def _get_train_sampler(self, train_dataset: Any = None) -> Sampler[int]:
        training = self._recipe.training
        return LengthBuckets(self.train_dataset.lengths, training.batch_size, training.seed)  # type: ignore[union-attr]

    def create_optimizer(self, model: Any = None) -> torch.optim.Optimizer:
        if self.optimizer is None:
            t = self._recipe.training
            named = [(name, p) for name, p in self.model.named_parameters() if p.requires_grad]  # type: ignore[union-attr]
            rates = {True: t.learning_rate, False: t.head_learning_rate or t.learning_rate}
            groups = []
            for pretrained in (True, False):
                for decays in (True, False):
                    chosen = [
                        p
                        for name, p in named
                        if name.startswith("encoder.") == pretrained and (p.ndim > 1) == decays
                    ]
                    decay = t.weight_decay if decays else 0.0
                    groups.append({"params": chosen, "lr": rates[pretrained], "weight_decay": decay})
            self.optimizer = torch.optim.AdamW([group for group in groups if group["params"]])
        return self.optimizer

    def compute_loss(
        self,
        model: Any,
        inputs: dict[str, Tensor],
        return_outputs: bool = False,
        num_items_in_batch: Any = None,
    ) -> Any:
        smoothing = self._recipe.training.label_smoothing if model.training else 0.0
        outputs = model(**inputs, smoothing=smoothing)
        return (outputs["loss"], outputs) if return_outputs else outputs["loss"]


class _Log(TrainerCallback):
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


class _BestKeeper(TrainerCallback):
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
        self._seen.append((state.global_step, value if self._metric == "loss" else -value))
        if state.is_world_process_zero:
            if self.best_step == state.global_step:
                states = {name: tensor.contiguous() for name, tensor in model.state_dict().items()}
                save_file(states, self._states.with_suffix(".part"))
                self._states.with_suffix(".part").replace(self._states)
            self._record.write_text(json.dumps(self._seen))
        since = sum(step > self.best_step for step, _ in self._seen)
        if self._patience is not None and since >= self._patience:
            control.should_training_stop = True

    def restore(self, model: PreTrainedModel) -> None:
        model.load_state_dict(load_file(self._states))

    def remove(self) -> None:
        self._states.unlink()
        self._record.unlink()


class _Checkpoints(TrainerCallback):
    """Saves by the clock. Of several processes the first one decides, so that all save at the same step."""

    def __init__(self, minutes: float) -> None:
        self._seconds = 60 * minutes
        self._last = time.monotonic()

    def on_step_end(self, args: Any, state: TrainerState, control: TrainerControl, **_: Any) -> None:
        due = torch.tensor([float(time.monotonic() - self._last >= self._seconds)])
        if _world_size() > 1:
            torch.distributed.broadcast(due, src=0)
        if due.item():
            control.should_save = True
            self._last = time.monotonic()


class _Minutes(TrainerCallback):
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
            self._path.write_text(json.dumps(self.spent()))


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


def data_hash(splits: dict[str, list[Item]]) -> str:
    """What was learned from and scored on: texts and labels of all splits."""
    digest = hashlib.sha256()
    for split, items in splits.items():
        for item in items:
            digest.update(repr((split, item.id, item.turns, sorted(item.labels.items()))).encode())
    return digest.hexdigest()[:12]


def _world_size() -> int:
    """How many processes there are; torchrun says so before they have met."""
    return int(os.environ.get("WORLD_SIZE", "1"))
