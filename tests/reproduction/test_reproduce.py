"""A paper's tables beside ours: what is shown, what is run where figures are missing, and what is refused."""

import json
from pathlib import Path

import pytest
from click.testing import CliRunner

from heartfelt.cli import app
from heartfelt.errors import HeartfeltError
from heartfelt.reproduction.order import in_order, needed
from heartfelt.reproduction.paper import Row, papers_in, read_paper, recipe_path
from tests.conftest import ROOT

RECIPES = ROOT / "recipes"
HEADER = "conv_id,utterance_idx,context,prompt,speaker_idx,utterance,selfeval,tags\n"
ABOUT = ("dog", "cat", "game", "job", "friend")

TABLES = """
title: A toy
tables:
  finding:
    title: Table 1
    columns: {pairs.p_at_1: "P@1,100", answers.avg_bleu: AVG BLEU}
    rows:
      - {row: fine-tuned, recipe: second, score: [pairs], pool: [empathetic_dialogues],
         paper: {pairs.p_at_1: 56.9, answers.avg_bleu: 5.88}}
      - {row: larger, recipe: larger, paper: {pairs.p_at_1: 60}}
      - {row: people, paper: {answers.avg_bleu: 100}, reason: nobody to ask.}
"""
FIRST = """
task: pairs
model: transformer_matcher
note: A toy stands where the paper has a model.
settings: {size: 16, layers: 1, attention_heads: 2, inner: 16, max_tokens: 16, max_reply_tokens: 16}
training: {max_steps: 2, batch_size: 10, evaluate_every: 2, metric: p_at_1}
"""


@pytest.fixture
def toy(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A folder with a paper of one table, and EmpatheticDialogues of a few lines."""
    (tmp_path / "recipes" / "toy").mkdir(parents=True)
    (tmp_path / "recipes" / "toy" / "tables.yaml").write_text(TABLES)
    (tmp_path / "recipes" / "toy" / "first.cpu.yaml").write_text(FIRST)
    (tmp_path / "recipes" / "toy" / "second.cpu.yaml").write_text(f"{FIRST}start: runs/first.cpu\n")
    folder = tmp_path / "data" / "empathetic_dialogues"
    folder.mkdir(parents=True)
    for split, count in (("train", 20), ("valid", 10), ("test", 10)):
        rows = [
            f"{split}{i},1,sad,my {ABOUT[i % 5]},1,i lost my {ABOUT[i % 5]} {i},,\n"
            f"{split}{i},2,sad,my {ABOUT[i % 5]},0,your poor {ABOUT[i % 5]} {i},,\n"
            for i in range(count)
        ]
        (folder / f"{split}.csv").write_text(HEADER + "".join(rows))
    monkeypatch.chdir(tmp_path)
    return tmp_path


def run(*arguments: str) -> str:
    done = CliRunner().invoke(app, list(arguments), catch_exceptions=False)
    assert done.exit_code == 0, done.output
    return done.output


def test_what_is_missing_is_told_and_then_run(toy: Path) -> None:
    pytest.importorskip("torch", reason="needs torch: pip install 'heartfelt[train]'")
    before = run("reproduce", "toy")
    assert "56.9" in before and "5.88" in before
    assert "Not run yet: fine-tuned." in before
    assert "No recipe at cpu scale: larger." in before
    assert "people: nobody to ask." in before

    after = run("reproduce", "toy", "--missing", "--data", "data", "--markdown", "toy.md", "--latex", "toy.tex",
                "--html", "toy.html")  # fmt: skip
    assert "first.cpu, which second.cpu needs" in after
    assert "Not run yet" not in after and "A toy stands where" in after
    kept = toy / "results" / "toy" / "second.cpu.json"
    scores = json.loads(kept.read_text())["results"]["scores"]["test"]
    value, low, high = scores["replies"]["p_at_1"]
    assert low <= value <= high
    assert "pairs" not in scores, "its own task was scored when it was trained"
    assert scores["answers from empathetic_dialogues"]["items"] == 10
    assert f"{value:.1f}"[:3] in after
    for name in ("toy.md", "toy.tex", "toy.html"):
        assert "fine-tuned" in (toy / name).read_text()

    # What is deleted comes again, the same: the run is there, and would be trained again if it were not.
    figures = kept.read_text()
    kept.unlink()
    run("reproduce", "toy", "--missing", "--data", "data")
    assert kept.read_text() == figures


def test_seeds_give_mean_and_spread(toy: Path) -> None:
    pytest.importorskip("torch", reason="needs torch: pip install 'heartfelt[train]'")
    shown = run(
        "reproduce", "toy/finding", "--missing", "--seeds", "0,1", "--row", "fine-tuned", "--data", "data"
    )
    assert "(2 seeds)" in shown
    found = json.loads((toy / "results" / "toy" / "second.cpu.json").read_text())
    assert found["seeds"] == [0, 1]
    assert len(found["results"]["scores"]["test"]["replies"]["p_at_1"]["values"]) == 2


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        (("rashkin",), "toy"),
        (("toy/findings",), "finding"),
        (("toy", "--seeds", "0"), "--missing"),
        (("toy", "--missing", "--seeds", "a,b"), "whole numbers"),
        (("toy", "--missing", "--row", "fine"), "fine-tuned"),
        (("toy", "--recipes", "nowhere"), "clone of the repository"),
    ],
)
def test_what_cannot_be_shown_is_said(toy: Path, arguments: tuple[str, ...], words: str) -> None:
    done = CliRunner().invoke(app, ["reproduce", *arguments])
    assert isinstance(done.exception, HeartfeltError)
    assert words in str(done.exception)


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ("tables: [", "not YAML"),
        ("title: x", "title and tables"),
        ("tables: {a: {title: t, columns: {bleu: B}, rows: []}}", "a head, a dot and a metric"),
        (
            "tables: {a: {title: t, columns: {a.ppl: B}, rows: [{row: r, paper: {a.c: 1}}]}}",
            "which is no column",
        ),
        ("tables: {a: {titel: t, columns: {}, rows: []}}", "there is no tables.a.titel"),
    ],
)
def test_a_broken_file_of_tables_is_told(toy: Path, text: str, words: str) -> None:
    (toy / "recipes" / "toy" / "tables.yaml").write_text(text)
    with pytest.raises(HeartfeltError, match=words):
        read_paper("toy", toy / "recipes")


def test_what_a_recipe_needs_comes_first(toy: Path) -> None:
    recipes = toy / "recipes"
    order = in_order(recipes / "toy" / "second.cpu.yaml", recipes, toy / "runs")
    assert [folder.name for _, folder in order] == ["first.cpu", "second.cpu"]
    (recipes / "toy" / "first.cpu.yaml").write_text(f"{FIRST}start: runs/gone.cpu\n")
    with pytest.raises(HeartfeltError, match=r"needs the run gone\.cpu"):
        in_order(recipes / "toy" / "second.cpu.yaml", recipes, toy / "runs")
    (recipes / "toy" / "first.cpu.yaml").write_text(f"{FIRST}start: runs/second.cpu\n")
    with pytest.raises(HeartfeltError, match="needs itself"):
        in_order(recipes / "toy" / "second.cpu.yaml", recipes, toy / "runs")


@pytest.mark.parametrize("name", papers_in(RECIPES))
def test_every_row_of_our_papers_has_a_recipe_or_a_reason(name: str) -> None:
    from heartfelt.recipe import load

    paper = read_paper(name, RECIPES)
    for table in paper.tables.values():
        for row in table.rows:
            path = recipe_path(RECIPES, name, row, "cpu")
            assert path or row.reason, f"{row.row}: no recipe at cpu scale, and no reason"
            for run_name in needed(load(path)) if path else ():
                shipped = Path(run_name).name.startswith("heartfelt-e")
                assert shipped or list(RECIPES.glob(f"*/{Path(run_name).name}.yaml")), run_name


def test_replies_of_several_pools_are_told_apart() -> None:
    row = Row("a", pool=("empathetic_dialogues", "dailydialog"), reranker="again")
    assert row.head("answers.avg_bleu") == (
        "answers from empathetic_dialogues + dailydialog by again",
        "avg_bleu",
    )
    assert row.head("pairs.p_at_1") == ("pairs", "p_at_1")


def test_no_two_recipes_share_a_name() -> None:
    """A run's folder has the recipe's name, and recipes name each other's runs."""
    names = [path.name for path in RECIPES.glob("*/*.yaml") if path.name != "tables.yaml"]
    assert sorted(set(names)) == sorted(names)
