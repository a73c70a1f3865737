"""Training and writing with a Transformer from scratch (rashkin2019's sizes), our way beside the plain one, in one run.

Training: batches of like length and logits only where there is a token, against batches in random order and logits
everywhere, as a plain Trainer loop has them; tokens that are no padding a second. Writing: many contexts at once, the
longest first, against one at a time. Needs [train] and EmpatheticDialogues (--data, or $HEARTFELT_DATA).
"""

import argparse
import time
from collections.abc import Iterator
from itertools import islice
from pathlib import Path
from typing import Any

import torch
from torch.nn import functional as F

from heartfelt.models import transformer_generator as module
from heartfelt.models.answerer import Answerer, encode_pair, in_batch
from heartfelt.training.batches import LengthBuckets
from heartfelt.training.pairs import PAIRS

BATCH = 32


def pieces(examples: list[dict[str, Any]], buckets: bool) -> Iterator[dict[str, torch.Tensor]]:
    """Batches without end."""
    lengths = [len(one["input_ids"]) + len(one["reply_ids"]) if buckets else 1 for one in examples]
    sampler = LengthBuckets(lengths, BATCH, seed=0)
    while True:
        order = iter(sampler)
        while chosen := list(islice(order, BATCH)):
            yield in_batch([examples[i] for i in chosen], pad_id=0)


def plain_loss(model: Answerer, batch: dict[str, torch.Tensor]) -> torch.Tensor:
    read = model.read(batch["input_ids"], batch["attention_mask"])
    logits = model.speak(model.say(batch["reply_ids"][:, :-1], read))
    wanted = batch["reply_ids"][:, 1:].masked_fill(batch["reply_mask"][:, 1:] == 0, -100)
    return F.cross_entropy(logits.flatten(0, 1), wanted.flatten(), ignore_index=-100)


def train(model: Answerer, examples: list[dict[str, Any]], ours: bool, steps: int) -> float:
    """Tokens a second."""
    optimizer = torch.optim.AdamW(model.parameters(), 1e-4)
    model.train()
    tokens, started = 0, time.perf_counter()
    for batch in islice(pieces(examples, buckets=ours), steps):
        loss = model(**batch)["loss"] if ours else plain_loss(model, batch)
        loss.backward()
        optimizer.step()
        optimizer.zero_grad()
        tokens += int(batch["attention_mask"].sum() + batch["reply_mask"].sum())
    return tokens / (time.perf_counter() - started)


@torch.no_grad()
def write(model: Answerer, examples: list[dict[str, Any]], together: int) -> float:
    """Replies a second."""
    model.eval()
    order = sorted(examples, key=lambda one: -len(one["input_ids"]))
    started = time.perf_counter()
    for start in range(0, len(order), together):
        batch = in_batch(order[start : start + together], pad_id=0)
        read = model.read(batch["input_ids"], batch["attention_mask"])
        model.generate(
            encoder_outputs=read,
            attention_mask=read.mask,
            min_new_tokens=16,
            max_new_tokens=16,
            do_sample=False,
        )
    return len(examples) / (time.perf_counter() - started)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--data", type=Path)
    parser.add_argument("--steps", type=int, default=30)
    parser.add_argument("--replies", type=int, default=128)
    asked = parser.parse_args()
    pairs = list(islice(PAIRS["pairs"].read("train", asked.data), 20_000))
    texts = [text for pair in pairs for text in (pair.context[-1].text, pair.reply)]
    torch.manual_seed(0)
    settings = module.Settings()
    model, tokenizer = module.build(settings, {}, texts)
    model.begin_with(tokenizer)
    examples = [encode_pair(module, settings, tokenizer, pair.context, pair.reply) for pair in pairs]
    train(model, examples, True, 3)  # the first steps are slow
    rates = {ours: train(model, examples, ours, asked.steps) for ours in (False, True, False, True)}
    plain, ours = rates[False], rates[True]
    print(f"training, tokens/s   plain {plain:>8.0f}   ours {ours:>8.0f}   {ours / plain:.2f} ×")
    few = examples[: asked.replies]
    one, many = write(model, few, 1), write(model, few, 32)
    print(f"writing, replies/s   one at a time {one:>6.1f}   32 at once {many:>6.1f}   {many / one:.2f} ×")


if __name__ == "__main__":
    main()
