"""The exported encoder beside torch on the same weights: texts a second at batch 1 and 64, as ratios, and sizes.

Needs MiniLM (heartfelt models pull minilm) and the [train] extra. The heads are new: speed does not depend on them.
"""

import tempfile
import time
import warnings
from collections.abc import Callable
from pathlib import Path

import numpy as np

TEXTS = [
    "I finally got the job that I wanted, and I could not believe it when they called me this morning.",
    "My dog died last night and the house is so quiet now.",
    "Somebody took my parking place again today.",
    "We are moving to another town next month, I do not know anybody there.",
] * 64
SECONDS = 3.0


def rate(run: Callable[[list[str]], object], batch: int) -> float:
    """Texts a second; the first pass does not count."""
    chunks = [TEXTS[i : i + batch] for i in range(0, len(TEXTS), batch)]
    run(chunks[0])
    done, started = 0, time.perf_counter()
    while time.perf_counter() - started < SECONDS:
        done += len(chunks[0])
        run(chunks[(done // batch) % len(chunks)])
    return done / (time.perf_counter() - started)


def main() -> None:
    from heartfelt.errors import HeartfeltError
    from heartfelt.models import encoder_classifier

    try:
        model, tokenizer = encoder_classifier.build(
            encoder_classifier.Settings(), {"emotion": 32, "label": 41}, []
        )
    except HeartfeltError as problem:
        print(f"skipped: {problem}")
        return
    import onnxruntime
    import torch

    from heartfelt.training.export import _Classifier, _onnx

    model.eval()

    def encoded(texts: list[str]) -> dict[str, np.ndarray]:
        batch = tokenizer(texts, padding=True, return_tensors="np")
        return {name: batch[name].astype(np.int64) for name in ("input_ids", "attention_mask")}

    def by_torch(texts: list[str]) -> object:
        with torch.no_grad():
            return model(**{name: torch.from_numpy(value) for name, value in encoded(texts).items()})

    systems: dict[str, Callable[[list[str]], object]] = {"torch fp32": by_torch}
    sizes = {"torch fp32": sum(p.numel() * 4 for p in model.parameters())}
    with tempfile.TemporaryDirectory() as scratch, warnings.catch_warnings():
        warnings.simplefilter("ignore")
        for name, int8 in (("onnx fp32", False), ("onnx int8", True)):
            folder = Path(scratch) / name.replace(" ", "-")
            folder.mkdir()
            path = _onnx(_Classifier(model).eval(), folder, int8)
            session = onnxruntime.InferenceSession(str(path))
            systems[name] = lambda texts, session=session: session.run(None, encoded(texts))
            sizes[name] = path.stat().st_size
        print(f"{'':<12}{'batch 1':>12}{'ratio':>8}{'batch 64':>12}{'ratio':>8}{'MB':>8}")
        base: dict[int, float] = {}
        for name, run in systems.items():
            rates = {batch: rate(run, batch) for batch in (1, 64)}
            base = base or rates
            cells = "".join(f"{rates[batch]:>10.0f}/s{rates[batch] / base[batch]:>8.2f}" for batch in (1, 64))
            print(f"{name:<12}{cells}{sizes[name] / 1e6:>8.1f}")


if __name__ == "__main__":
    main()
