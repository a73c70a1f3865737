"""Training by gradient: transformers' Trainer with length buckets, the best state kept, and resume to the bit."""

import shutil
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from types import ModuleType
from typing import Any

import numpy as np
import torch
from torch import Tensor
from torch.utils.data import Dataset, Sampler
from transformers import PreTrainedModel, Trainer, TrainerCallback, TrainingArguments
from transformers import PreTrainedTokenizerBase as Tokenizer
from transformers.trainer_utils import EvalPrediction

from heartfelt.dialogue import Turn
from heartfelt.models.backbone import separator
from heartfelt.models.heads import UNLABELLED, Lesson
from heartfelt.models.precision import precision
from heartfelt.recipe import BadRecipe, Recipe
from heartfelt.training.batches import LengthBuckets, padded
from heartfelt.training.callbacks import BestKeeper, Checkpoints, Log, Minutes, last_checkpoint, world_size
from heartfelt.training.scores import by_head
from heartfelt.training.tasks import Item, Task

Encode = Callable[[Any], dict[str, Any]]  # an item → its tokens and labels
Measure = Callable[[EvalPrediction], dict[str, float]]
Collate = Callable[..., dict[str, Tensor]]  # examples, pad_id=… → a batch


def encoder(module: ModuleType, settings: Any, tokenizer: Tokenizer, task: Task) -> Encode:
    """How an item becomes tokens, by the model's own `encode` where its file has one, and label ids."""
    tokens_of = getattr(module, "encode", as_text)
    ids = {head: {label: i for i, label in enumerate(labels)} for head, labels in task.heads.items()}

    def encode(item: Item) -> dict[str, Any]:
        labels = [ids[head].get(item.labels.get(head, ""), UNLABELLED) for head in ids]
        return {**tokens_of(settings, tokenizer, item.context), "labels": labels}

    return encode


def as_text(settings: Any, tokenizer: Tokenizer, turns: Sequence[Turn]) -> dict[str, list[int]]:
    """One text, turn after turn; of a long one, the end."""
    text = separator(tokenizer).join(turn.text for turn in turns) + getattr(settings, "suffix", "")
    return {"input_ids": tokenizer(text, truncation=True, max_length=settings.max_tokens)["input_ids"]}


PRETRAINED = ("encoder.", "reply_encoder.", "listener.encoder.")  # where models keep what has learned before


class Encoded(Dataset[dict[str, Any]]):
    """Items as tokens, each encoded when it is first asked for: a short training on a large corpus reads little of it.

    Sorted, the longest come first: evaluation then pads little and fails early if memory is short.
    """

    def __init__(
        self, items: Sequence[Any], encode: Encode, sort: bool, lessons: np.ndarray | None = None
    ) -> None:
        self._items, self._encode, self._lessons = items, encode, lessons
        self._examples: list[dict[str, Any] | None] = [None] * len(items)
        self.order = list(range(len(items)))  # which item stands where
        if sort:
            lengths = self.lengths
            self.order.sort(key=lambda index: -lengths[index])

    def __len__(self) -> int:
        return len(self._items)

    def __getitem__(self, index: int) -> dict[str, Any]:
        item = self.order[index]
        found = self._examples[item]
        if found is None:
            found = self._examples[item] = dict(self._encode(self._items[item]))
            if self._lessons is not None:
                found["lesson"] = self._lessons[item]
        return found

    @property
    def lengths(self) -> list[int]:
        return [_length(self[index]) for index in range(len(self))]


def _length(example: dict[str, Any]) -> int:
    return len(example["input_ids"]) + len(example.get("reply_ids", ()))


@dataclass
class Learner:
    """A model on its way through a recipe."""

    folder: Path
    recipe: Recipe
    model: PreTrainedModel
    tokenizer: Tokenizer
    encode: Encode
    measure: Measure
    encode_train: Encode | None = None  # where training sees items in another way
    collate: Collate = padded
    like_lengths: bool = (
        True  # batches of like length; else of any, where a batch's items are told from each other
    )

    def __post_init__(self) -> None:
        self.keeper = BestKeeper(self.folder, self.recipe.training.metric, self.recipe.training.patience)
        self.minutes = Minutes(self.folder)

    def learn(
        self,
        train: list[Any],
        valid: list[Any],
        watch: TrainerCallback | None,
        lessons: np.ndarray | None = None,
    ) -> None:
        """Train, going on from the last checkpoint; leaves the model in its best state on valid.

        `lessons`: a teacher's logits for each item of train, (items, all classes).
        """
        training = self.recipe.training
        if training.evaluate_on and training.evaluate_on < len(valid):
            chosen = np.random.default_rng(training.seed).permutation(len(valid))[: training.evaluate_on]
            valid = [valid[i] for i in sorted(chosen.tolist())]
        self.trainer = _Trainer(
            recipe=self.recipe,
            like_lengths=self.like_lengths,
            model=self.model,
            args=self._arguments(len(train)),
            data_collator=partial(self.collate, pad_id=int(self.tokenizer.pad_token_id or 0)),
            train_dataset=Encoded(train, self.encode_train or self.encode, sort=False, lessons=lessons),
            eval_dataset=Encoded(valid, self.encode, sort=True),
            compute_metrics=self.measure,
        )
        ours = (Log(self.folder), self.keeper, Checkpoints(training.checkpoint_minutes), self.minutes)
        for callback in (*ours, *([watch] if watch else [])):
            self.trainer.add_callback(callback)
        self.trainer.train(resume_from_checkpoint=last_checkpoint(self.folder))
        self.keeper.restore(self.model)

    def logits(self, items: list[Any], encode: Encode | None = None) -> np.ndarray:
        """(items, all classes), in the order of the items; or what else the model calls its logits."""
        dataset = Encoded(items, encode or self.encode, sort=True)
        found = np.asarray(self.trainer.predict(dataset).predictions)  # type: ignore[arg-type]
        return found[np.argsort(dataset.order)]

    def finish(self) -> None:
        """Remove what only an unfinished run needs."""
        shutil.rmtree(self.folder / "checkpoints", ignore_errors=True)
        self.keeper.remove()

    @property
    def first_process(self) -> bool:
        return bool(self.trainer.is_world_process_zero())

    def _arguments(self, examples: int) -> TrainingArguments:
        t, processes = self.recipe.training, world_size()
        if t.batch_size % processes:
            raise BadRecipe(f"training.batch_size {t.batch_size} does not divide by {processes} processes")
        steps = t.max_steps or -(-examples // t.batch_size) * t.epochs
        return TrainingArguments(
            output_dir=str(self.folder / "checkpoints"),
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
            save_strategy="no",  # Checkpoints saves by the clock
            save_total_limit=2,
            report_to=[],
            remove_unused_columns=False,
            label_names=["labels"],
            bf16=precision() == "bf16",
            use_cpu=not torch.cuda.is_available(),
            dataloader_pin_memory=False,
            ddp_find_unused_parameters=False,
            disable_tqdm=False,
        )


def accuracies(task: Task) -> Measure:
    """How a classifier is measured along the way: accuracy, head by head."""

    def measure(predicted: EvalPrediction) -> dict[str, float]:
        found = {}
        labels = np.asarray(predicted.label_ids)  # (items, heads)
        for i, (head, logits) in enumerate(by_head(task, np.asarray(predicted.predictions)).items()):
            known = labels[:, i] != UNLABELLED
            if known.any():
                found[f"{head}_accuracy"] = float((logits[known].argmax(-1) == labels[known, i]).mean())
        return found

    return measure


class _Trainer(Trainer):
    """Trainer with our order of examples, and a learning rate of its own for what is not pretrained."""

    def __init__(self, recipe: Recipe, like_lengths: bool, **arguments: Any) -> None:
        self._recipe, self._like_lengths = recipe, like_lengths
        super().__init__(**arguments)

    def _get_train_sampler(self, train_dataset: Any = None) -> Sampler[int]:
        training, data = self._recipe.training, self.train_dataset
        lengths = data.lengths if self._like_lengths else [1] * len(data)  # type: ignore[union-attr,arg-type]
        return LengthBuckets(lengths, training.batch_size, training.seed)

    def create_optimizer(self, model: Any = None) -> torch.optim.Optimizer:
        if self.optimizer is None:
            t = self._recipe.training
            named = [(name, p) for name, p in self.model.named_parameters() if p.requires_grad]  # type: ignore[union-attr]
            rates = {True: t.learning_rate, False: t.head_learning_rate or t.learning_rate}
            known = getattr(self.model, "is_pretrained", lambda name: name.startswith(PRETRAINED))
            groups = []
            for pretrained in (True, False):
                for decays in (True, False):
                    chosen = [p for name, p in named if known(name) == pretrained and (p.ndim > 1) == decays]
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
        said, teacher, lesson = inputs.pop("lesson", None), self._recipe.teacher, None
        if said is not None and teacher:
            lesson = Lesson(said, teacher.weight, teacher.temperature)
        outputs = model(**inputs, smoothing=smoothing, lesson=lesson)
        return (outputs["loss"], outputs) if return_outputs else outputs["loss"]
