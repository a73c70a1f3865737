"""The exported encoder says what the trained one says, without torch."""

import subprocess
import sys
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from heartfelt.agent.encoder import Encoder
from heartfelt.errors import BadData, InvalidValue, MissingData
from heartfelt.recipe import Recipe, Training
from heartfelt.training import engine
from heartfelt.training.run import Run

TEXTS = [["i am so happy . my dog won"], ["i am so sad", "what did you say ?", "my cat died"], ["so"]]


def export(run: Run, to: Path, data: Path | None = None, int8: bool = True) -> Path:
    from heartfelt.training import export as exporting

    return exporting.export(run, to, data, int8)


@pytest.fixture(scope="module")
def run(tiny_bert: Path, tmp_path_factory: pytest.TempPathFactory) -> tuple[Run, Path]:
    from tests.training.conftest import write_moods

    data = write_moods(tmp_path_factory.mktemp("data"))
    training = Training(
        epochs=6, batch_size=8, learning_rate=5e-4, head_learning_rate=2e-2, evaluate_every=12
    )
    settings: dict[str, Any] = {"checkpoint": str(tiny_bert), "max_tokens": 32}
    folder = tmp_path_factory.mktemp("runs") / "tiny"
    engine.train(Recipe("situations", "encoder_classifier", settings, training), folder, data)
    return Run(folder), data


@pytest.mark.filterwarnings("ignore")  # torch's exporter warns of itself
@pytest.mark.parametrize("int8", [False, True])
def test_export_says_what_the_model_says(run: tuple[Run, Path], tmp_path: Path, int8: bool) -> None:
    import torch
    from transformers import AutoTokenizer

    from heartfelt.models.encoder_classifier import EncoderClassifier

    encoder = Encoder(export(run[0], tmp_path / "out", run[1], int8))
    chances, vectors = encoder(TEXTS)
    assert chances["emotion"].shape == (3, 32)
    assert vectors.shape == (3, 32)
    assert np.allclose(chances["emotion"].sum(-1), 1, atol=1e-5)
    model = EncoderClassifier.from_pretrained(run[0].folder / "model").eval()
    tokenizer = AutoTokenizer.from_pretrained(run[0].folder / "model")
    for turns, row in zip(TEXTS, chances["emotion"], strict=True):
        batch = tokenizer(" [SEP] ".join(turns), return_tensors="pt")
        with torch.no_grad():
            logits = model(batch["input_ids"], batch["attention_mask"])["logits"][0]
        expected = torch.softmax(logits / encoder.card.temperatures["emotion"], -1).numpy()
        # int8 costs this model, 32 numbers wide, more than it costs a real one.
        assert np.abs(row - expected).max() < (0.2 if int8 else 1e-4)
    labels = [encoder.card.heads["emotion"][i] for i in chances["emotion"].argmax(-1)]
    assert labels[:2] == ["joyful", "sad"]
    # Alone or in a batch, in any order: the same.
    assert np.allclose(
        encoder([TEXTS[1]])[0]["emotion"][0], chances["emotion"][1], atol=0.2 if int8 else 1e-5
    )


@pytest.mark.filterwarnings("ignore")
def test_the_runtime_needs_no_torch_and_refuses_what_does_not_fit(
    run: tuple[Run, Path], tmp_path: Path
) -> None:
    folder = export(run[0], tmp_path / "out", run[1])
    code = (
        "import sys; from pathlib import Path; from heartfelt.agent.encoder import Encoder;"
        f"print(Encoder(Path({str(folder)!r}))([['so sad']])[0]['emotion'].shape);"
        "assert not {'torch', 'transformers'} & set(sys.modules)"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True)
    assert done.stdout == "(1, 32)\n", done.stderr
    (folder / "encoder.onnx").write_bytes(b"another model")
    with pytest.raises(BadData, match="not the model that"):
        Encoder(folder)
    with pytest.raises(MissingData, match="no encoder in"):
        Encoder(tmp_path)
    with pytest.raises(InvalidValue, match="not a finished run"):
        (tmp_path / "other").mkdir()
        (tmp_path / "other" / "recipe.yaml").write_text("{task: situations, model: naive_bayes}")
        export(Run(tmp_path / "other"), tmp_path / "out2")


@pytest.mark.filterwarnings("ignore")
@pytest.mark.parametrize("int8", [False, True])
def test_a_run_again_from_its_export(run: tuple[Run, Path], tmp_path: Path, int8: bool) -> None:
    from heartfelt.models import encoder_classifier
    from heartfelt.training.restore import restore

    folder = export(run[0], tmp_path / "out", run[1], int8)
    again = restore(folder, run[0].recipe, tmp_path / "again")
    assert again.labels == run[0].labels and again.results is not None
    ours, theirs = (encoder_classifier.load(one.folder / "model").state_dict() for one in (run[0], again))
    for name, weights in ours.items():
        # Seven bits: a step is a 127th of what lies between a matrix's smallest and largest number.
        step = 0 if not int8 else float(weights.max() - weights.min()) / 125 if weights.dim() > 1 else 0
        if "pooler" not in name:
            assert (weights - theirs[name]).abs().max() <= step + 1e-6, name


@pytest.mark.filterwarnings("ignore")
def test_an_export_of_another_model_is_refused(
    run: tuple[Run, Path], tiny_bert: Path, tmp_path: Path
) -> None:
    from heartfelt.training.restore import restore

    folder = export(run[0], tmp_path / "out", run[1])
    other = Recipe("pairs", "encoder_matcher", {"checkpoint": str(tiny_bert)})
    with pytest.raises(InvalidValue, match=r"lacks .*projection"):
        restore(folder, other, tmp_path / "again")
    with pytest.raises(InvalidValue, match="not of naive_bayes"):
        restore(folder, Recipe("situations", "naive_bayes"), tmp_path / "again")
    assert not (tmp_path / "again").exists()
