"""A full report (every metric, human beside it, 1,000 resamples, HTML) on 5,255 replies, beside one plain pass.

The replies are made up, seeded, and shaped like ED's test set: 2,545 dialogues, 14 words a reply, an emotion
distribution, a log-likelihood and an intent each. The plain pass computes every metric once, without
intervals; the naive bootstrap, which scores each resample anew, is timed on a few and multiplied.
"""

import tempfile
import time
from collections.abc import Callable
from pathlib import Path

import numpy as np

from heartfelt.evaluation import METRICS, Header, Output, Outputs, evaluate, report
from heartfelt.labels import EMOTIONS, INTENTS

TURNS, DIALOGUES, RESAMPLES, NAIVE = 5255, 2545, 1000, 3


def made_up() -> Outputs:
    random = np.random.default_rng(0)
    chances = 1 / np.arange(1, 8001)
    chances /= chances.sum()

    def text() -> str:
        return " ".join(f"w{word}" for word in random.choice(8000, p=chances, size=random.integers(6, 23)))

    stock = [text() for _ in range(40)]  # a system repeats itself
    rows = []
    for i in range(TURNS):
        shares = random.dirichlet(np.full(len(EMOTIONS), 0.2))
        rows.append(
            Output(
                f"d{i * DIALOGUES // TURNS}",
                2 * i + 1,
                ("heard",),
                text(),
                stock[random.integers(40)] if random.random() < 0.5 else text(),
                gold=EMOTIONS[random.integers(32)],
                emotion=dict(zip(EMOTIONS, shares.tolist(), strict=True)),
                log_likelihood=-float(random.gamma(10, 4)),
                tokens=int(random.integers(5, 30)),
                reference_label=INTENTS[random.integers(8)],
                reply_label=INTENTS[random.integers(3)],
            )
        )
    return Outputs(Header("made-up", "empathetic_dialogues", "test"), tuple(rows))


def seconds(work: Callable[[], object]) -> float:
    start = time.perf_counter()
    work()
    return time.perf_counter() - start


def main() -> None:
    outputs = made_up()
    names = [name for name, metric in METRICS.items() if not metric.lacks(outputs.fields)]

    def full() -> None:
        with tempfile.TemporaryDirectory() as folder:
            report.write(Path(folder) / "report.html", [(evaluate(outputs, resamples=RESAMPLES), outputs)])

    def naive() -> None:
        random = np.random.default_rng(0)
        for _ in range(NAIVE):
            rows = [outputs.rows[i] for i in random.integers(TURNS, size=TURNS)]
            for name in names:
                METRICS[name].value(rows)

    plain = min(seconds(lambda: evaluate(outputs, resamples=0)) for _ in range(3))
    whole = min(seconds(full) for _ in range(3))
    slow = seconds(naive) / NAIVE * RESAMPLES
    print(f"{TURNS:,} replies, {len(names)} metrics, {RESAMPLES:,} resamples")
    print(f"plain pass, no intervals          {plain:8.2f} s      1.0")
    print(f"full report, intervals and HTML   {whole:8.2f} s  {whole / plain:7.1f}")
    print(f"naive bootstrap (extrapolated)    {slow:8.0f} s  {slow / plain:7.0f}")


if __name__ == "__main__":
    main()
