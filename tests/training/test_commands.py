"""`heartfelt train`, `runs` and `models`, as a user types them."""

import json
from pathlib import Path

import pytest

from heartfelt import cli
from heartfelt.recipe import Recipe
from heartfelt.training.run import Run, open_run, write_card

RECIPE = "task: situations\nmodel: naive_bayes\n"


def heartfelt(*arguments: str | Path) -> int:
    with pytest.raises(SystemExit) as stop:
        cli.main([str(argument) for argument in arguments])
    return int(stop.value.code or 0)


@pytest.fixture
def recipe(tmp_path: Path) -> Path:
    path = tmp_path / "nb.cpu.yaml"
    path.write_text(RECIPE)
    return path


def test_train_and_look_at_it(
    recipe: Path, moods: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    folder = tmp_path / "runs" / "nb"
    assert heartfelt("train", recipe, "--to", folder, "--data", moods, "--set", "settings.smoothing=0.5") == 0
    assert "1.0000" in capsys.readouterr().out
    assert heartfelt("runs", "list", tmp_path / "runs") == 0
    assert "naive_bayes" in capsys.readouterr().out
    assert heartfelt("runs", "show", folder) == 0
    assert "smoothing: 0.5" in capsys.readouterr().out
    assert heartfelt("runs", "show", folder, "--json") == 0
    assert json.loads(capsys.readouterr().out)["results"]["task"] == "situations"


def test_a_run_that_speaks_is_shown_by_its_perplexity(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    run = Run(tmp_path / "runs" / "lm")
    scores = {"test": {"gold prefix": {"ppl": [12.3456, None, None], "items": 1}}}
    results = {"scores": scores, "parameters": 1, "minutes": 2.0, "recipe": "a", "data": "b"}
    recipe = Recipe("replies", "listener_lm")
    open_run(run.folder, recipe)
    write_card(run, recipe, "what a listener says next", results)
    run.write("results.json", results)
    assert "| ppl | 12.3456 | – |" in (run.folder / "README.md").read_text()
    assert heartfelt("runs", "list", tmp_path) == 0
    assert "gold prefix ppl 12.35" in capsys.readouterr().out
    assert heartfelt("runs", "show", run.folder) == 0
    assert "12.3456" in capsys.readouterr().out
    for command in (("report",), ("show", "--unseen")):
        assert heartfelt("runs", *command, run.folder) == 2
        assert "has learned what to say (replies): it predicts no labels" in capsys.readouterr().err


def test_several_seeds_give_mean_and_spread(
    recipe: Path, moods: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    folder = tmp_path / "runs"
    assert heartfelt("train", recipe, "--to", folder, "--data", moods, "--seeds", "1,2") == 0
    assert "1.0000 ± 0.0000" in capsys.readouterr().out
    assert sorted(path.name for path in folder.iterdir()) == ["seed-1", "seed-2"]


def test_report_ensemble_and_keep(
    recipe: Path, intents: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    runs = tmp_path / "runs"
    here = ("--data", intents)
    of_utterances = ("--set", "task=utterances", *here)
    assert heartfelt("train", recipe, "--to", runs / "a", *of_utterances) == 0
    assert (
        heartfelt("train", recipe, "--to", runs / "b", *of_utterances, "--set", "settings.smoothing=2") == 0
    )
    capsys.readouterr()
    assert heartfelt("runs", "show", runs / "a", "--unseen", *here) == 0
    said = capsys.readouterr().out
    assert "test, unseen  label" in said
    assert "Left out of test, unseen: 1 items" in said
    assert heartfelt("runs", "show", runs / "a", "--unseen", "--json", *here) == 0
    assert json.loads(capsys.readouterr().out)["unseen"]["seen"] == 1
    assert heartfelt("runs", "report", runs / "a", *here) == 0
    said = capsys.readouterr().out
    assert "label: true → said, 4 test items" in said
    assert "most confused" in said
    assert "fitted on valid" in said
    assert (runs / "a" / "report.html").is_file()
    assert heartfelt("runs", "ensemble", runs / "a", runs / "b", "--to", runs / "both", "--fit", *here) == 0
    assert "On the 4 test items that all members have (of a 4, b 4)" in capsys.readouterr().out
    assert heartfelt("runs", "list", runs) == 0
    assert "ensemble" in capsys.readouterr().out
    assert heartfelt("runs", "report", runs / "both", "--to", tmp_path / "both.html", *here) == 0
    assert (tmp_path / "both.html").is_file()
    capsys.readouterr()
    assert heartfelt("runs", "keep", runs / "a", runs / "both", "--to", tmp_path / "results") == 0
    assert capsys.readouterr().out.count("Wrote ") == 2


def test_extra_is_told(
    recipe: Path, intents: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    extra = tmp_path / "extra.jsonl"
    extra.write_text(
        '{"id": "x", "turns": [{"speaker": "listener", "text": "take care", "label": "wishing"}]}\n'
    )
    changes = ("--set", "task=utterances", "--set", f"extra=[{extra}]")
    assert heartfelt("train", recipe, "--to", tmp_path / "run", *changes, "--data", intents) == 0
    assert "Extra: 1 turns joined train; left out: 0 whose text" in capsys.readouterr().out


@pytest.mark.parametrize(
    ("arguments", "complaint"),
    [
        (["train", "nowhere.yaml"], "cannot be read: No such file"),
        (["train", "RECIPE", "--set", "training.epoch=1"], "there is no training.epoch"),
        (["train", "RECIPE", "--set", "model=naive_bays"], "Did you mean 'naive_bayes'"),
        (["train", "RECIPE", "--set", "task=situation"], "Did you mean 'situations'"),
        (["train", "RECIPE", "--set", "extra=[a"], "--set extra: '[a' is not YAML"),
        (["train", "RECIPE", "--seeds", "one"], "--seeds takes whole numbers"),
        (["runs", "show", "nowhere"], "is not a run folder"),
        (["runs", "list", "nowhere"], "There are no runs below nowhere"),
        (["runs", "report", "nowhere"], "is not a run folder"),
        (["runs", "ensemble", "nowhere", "--to", "x"], "name two runs at the least"),
        (["runs", "ensemble", "nowhere", "there"], "Missing option '--to'"),
        (["runs", "keep", "nowhere"], "neither a run folder nor a folder of seeds"),
        (
            ["train", "RECIPE", "--set", "extra=[nowhere.jsonl]"],
            "extra gives labelled turns to the head label",
        ),
        (["models", "pull", "minilmm"], "Did you mean 'minilm'"),
    ],
)
def test_mistakes_are_answered_in_a_line(
    arguments: list[str], complaint: str, recipe: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert heartfelt(*(str(recipe) if argument == "RECIPE" else argument for argument in arguments)) == 2
    said = capsys.readouterr().err
    assert complaint in said
    assert said.count("\n") == 1


def test_models_list(capsys: pytest.CaptureFixture[str]) -> None:
    assert heartfelt("models", "list") == 0
    assert "smollm2" in capsys.readouterr().out


def test_score_says_what_goes_together(
    recipe: Path, moods: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    folder = tmp_path / "nb"
    assert heartfelt("train", recipe, "--to", folder, "--data", moods) == 0
    capsys.readouterr()
    assert heartfelt("runs", "score", folder, "--task", "situations", "--data", moods, "--json") == 0
    found = json.loads(capsys.readouterr().out)
    assert (found["task"], found["split"]) == ("situations", "test")
    assert found["scores"]["emotion"]["accuracy_1"][0] == 1.0
    for wrong in (
        [],
        ["--base"],
        ["--task", "situations", "--prefix", "no"],
        ["--prefix", "no", "--balanced"],
    ):
        assert heartfelt("runs", "score", folder, *wrong) == 2
        assert (
            "Give --task TASK [--balanced], or of a language model --prefix PREFIX" in capsys.readouterr().err
        )
    assert heartfelt("runs", "score", folder, "--prefix", "no") == 2
    assert "is not a finished run of a language model" in capsys.readouterr().err


def test_soup_of_what_has_no_weights_is_refused(
    recipe: Path, moods: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    for name in ("one", "two"):
        assert heartfelt("train", recipe, "--to", tmp_path / name, "--data", moods) == 0
    capsys.readouterr()
    assert heartfelt("runs", "soup", tmp_path / "one", tmp_path / "two", "--to", tmp_path / "soup") == 2
    assert "has no weights that can be averaged" in capsys.readouterr().err
    assert heartfelt("runs", "soup", tmp_path / "one", "--to", tmp_path / "soup") == 2
    assert "name two runs at the least" in capsys.readouterr().err
    assert not (tmp_path / "soup").exists()
