"""Batches of like length: less padding, the same every time."""

from collections.abc import Iterator, Sequence
from typing import Any

import numpy as np
import torch
from torch.utils.data import Sampler

_POOL = 50  # batches that are sorted by length together; fewer is more random, more is tighter


class LengthBuckets(Sampler[int]):
    """Orders examples so that each run of `batch_size` has like lengths.

    The order depends on lengths, batch size over all processes, seed and epoch, and on nothing else: a resumed run
    sees what an unbroken one would, and two processes with half a batch each see what one would.
    """

    def __init__(self, lengths: Sequence[int], batch_size: int, seed: int) -> None:
        self._lengths = np.asarray(lengths)
        self._batch_size = batch_size
        self._seed = seed
        self._epoch = 0

    def set_epoch(self, epoch: int) -> None:
        """Called by accelerate at the start of each epoch."""
        self._epoch = epoch

    def __len__(self) -> int:
        return len(self._lengths)

    def __iter__(self) -> Iterator[int]:
        draw = np.random.default_rng([self._seed, self._epoch])
        order = draw.permutation(len(self._lengths))
        pools = [
            order[i : i + _POOL * self._batch_size] for i in range(0, len(order), _POOL * self._batch_size)
        ]
        # A stable sort keeps the random order among equal lengths.
        order = np.concatenate([pool[np.argsort(self._lengths[pool], kind="stable")] for pool in pools])
        whole = len(order) // self._batch_size * self._batch_size
        batches = order[:whole].reshape(-1, self._batch_size)
        draw.shuffle(batches)
        yield from batches.ravel().tolist()
        yield from order[whole:].tolist()


def padded(examples: Sequence[dict[str, Any]], pad_id: int) -> dict[str, torch.Tensor]:
    """Examples of different lengths as one batch: every list that has a number a token is padded on the right,
    input_ids with `pad_id` and all others with 0."""
    longest = max(len(example["input_ids"]) for example in examples)
    batch = {}
    for name in (name for name in examples[0] if name not in ("labels", "lesson")):
        batch[name] = torch.full((len(examples), longest), pad_id if name == "input_ids" else 0)
        for row, example in enumerate(examples):
            batch[name][row, : len(example[name])] = torch.tensor(example[name])
    lengths = torch.tensor([[len(example["input_ids"])] for example in examples])
    batch["attention_mask"] = (torch.arange(longest) < lengths).long()
    if "labels" in examples[0]:
        batch["labels"] = torch.tensor([example["labels"] for example in examples])
    if "lesson" in examples[0]:
        batch["lesson"] = torch.from_numpy(np.stack([example["lesson"] for example in examples]))
    return batch
