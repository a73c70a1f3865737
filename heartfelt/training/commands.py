"""The commands `heartfelt train` and `heartfelt runs …`."""

import json
import statistics
from dataclasses import replace
from pathlib import Path
from typing import Any

import click

from heartfelt import recipe as recipes
from heartfelt.errors import InvalidValue, MissingData
from heartfelt.models import module_of
from heartfelt.terminal import console, counting, table
from heartfelt.training import keep as keeping
from heartfelt.training.pairs import PAIRS
from heartfelt.training.run import Run, runs_below
from heartfelt.training.score_pairs import score_pairs

_PATH = click.Path(path_type=Path)
_OF_LABELS = ("accuracy_1", "accuracy_3", "accuracy_5", "macro_f1", "weighted_f1", "auroc", "ece")
_OF_REPLIES = ("ppl", "ppl_word", "bits_per_byte")
_OF_PAIRS = ("p_at_1", "mrr")

data_option = click.option(
    "--data",
    type=_PATH,
    help="Folder that holds the corpora (default: $HEARTFELT_DATA).",
)


@click.command()
@click.argument("recipe", type=_PATH)
@click.option("--to", type=_PATH, help="Run folder (default: runs/<name of the recipe>).")
@click.option("--set", "changes", multiple=True, metavar="NAME=VALUE",
              help="Change one value of the recipe, e.g. training.epochs=1; may be repeated.")  # fmt: skip
@click.option(
    "--seeds", metavar="A,B,C", help="Train once with each seed; shows mean and standard deviation."
)
@data_option
def train(
    recipe: Path, to: Path | None, changes: tuple[str, ...], seeds: str | None, data: Path | None
) -> None:
    """Train what a recipe says into a run folder. The same command goes on with a run that was broken off.

    Under `torchrun --nproc-per-node 2 -m heartfelt train …` the batch is shared by the processes.
    """
    from heartfelt.training.engine import train as run_recipe

    base = recipes.load(recipe, changes)
    folder = to or Path("runs") / recipe.name.removesuffix(".yaml")
    if seeds is None:
        results = [run_recipe(base, folder, data)]
        _show(results)
        _tell_extra(results[0])
        click.echo(f"In {folder}")
        return
    results = []
    for seed in _numbers(seeds):
        one = replace(base, training=replace(base.training, seed=seed))
        results.append(run_recipe(one, folder / f"seed-{seed}", data))
    _show(results)
    _tell_extra(results[0])
    click.echo(f"In {folder}/seed-*")


def _numbers(text: str) -> list[int]:
    try:
        return [int(part) for part in text.split(",")]
    except ValueError:
        raise InvalidValue(f"--seeds takes whole numbers parted by commas, not '{text}'") from None


def _show(results: list[dict[str, Any]]) -> None:
    """Test scores: with an interval for one run, mean ± standard deviation over seeds for several."""
    first = results[0]["scores"]
    named = {metric for heads in first.values() for metrics in heads.values() for metric in metrics}
    columns = tuple(metric for metric in (*_OF_REPLIES, *_OF_PAIRS, *_OF_LABELS) if metric in named)
    shown = table("split", "head", *columns, right=columns)
    for split in first:
        for head in first[split]:
            cells = []
            for metric in columns:
                values = [r["scores"][split][head].get(metric, [None])[0] for r in results]
                known = [value for value in values if value is not None]
                spread = f" ± {statistics.stdev(known):.4f}" if len(known) > 1 else ""
                cells.append(f"{statistics.mean(known):.4f}{spread}" if known else "–")
            shown.add_row(split, head, *cells)
    console().print(shown)


def _tell_extra(results: dict[str, Any]) -> None:
    if extra := results.get("extra"):
        click.echo(
            f"Extra: {extra['items']:,} turns joined train; left out: {extra['leaked']:,} whose text is in valid or "
            f"test, {extra['foreign']:,} with a label that the task does not know"
        )


@click.command()
@click.argument("folder", type=_PATH)
@click.option("--task", help="Any task that has one of its heads, e.g. contexts.")
@click.option("--split", default="test", show_default=True)
@click.option(
    "--balanced",
    is_flag=True,
    help="Name rare labels too: as weighted F1 on valid likes best; chances are then not calibrated.",
)
@click.option(
    "--prefix",
    type=click.Choice(["gold", "emotion", "no", "predicted"]),
    help="Of a language model, in place of a task: what it is told of the replies that it should find likely.",
)
@click.option("--base", is_flag=True, help="Of a language model: the checkpoint's own weights.")
@click.option("--json", "as_json", is_flag=True, help="Print JSON, with intervals.")
@data_option
def score(
    folder: Path, task: str | None, split: str, balanced: bool, prefix: str | None, base: bool, as_json: bool,
    data: Path | None,
) -> None:  # fmt: skip
    """Score a finished run, or an exported encoder, on another task: one model for all, each of its jobs apart.

    A language model is scored by how likely it finds people's replies (--prefix), or on emotions, by the prefix
    that it would write (--task contexts).
    """
    if bool(task) == bool(prefix) or (base and not prefix) or (balanced and not task):
        raise InvalidValue("Give --task TASK [--balanced], or of a language model --prefix PREFIX [--base]")
    with counting("Scoring") as step:
        if task in PAIRS:
            found = score_pairs(Run(folder), PAIRS[task], split, data, step)
        elif task:
            from heartfelt.training.predict import score as score_run
            from heartfelt.training.tasks import find

            found = score_run(folder, find(task), split, data, step, balanced)
        else:
            module_of("listener_lm")  # says what is missing where torch is
            from heartfelt.training.likelihood import score as score_replies

            name = "emotion only" if prefix == "emotion" else f"{prefix} prefix"
            found = {name: score_replies(Run(folder), name, split, data, base, step)}
    if as_json:
        asked = {"task": task} if task else {"prefix": prefix, "base": base}
        click.echo(json.dumps({**asked, "split": split, "scores": found}, indent=2))
        return
    _show([{"scores": {split: found}}])


@click.command()
@click.argument("folder", type=_PATH)
@click.argument("to", type=_PATH)
@click.option(
    "--fp32", is_flag=True, help="Keep whole numbers of 32 bits: four times as large, for comparison."
)
@data_option
def export(folder: Path, to: Path, fp32: bool, data: Path | None) -> None:
    """Export a finished run for use without torch: an encoder as ONNX in int8, a Naive Bayes gate or the
    guard's ear as they are, the adapter of a language model as a GGUF file. That of a retrieval model (a .safetensors
    file) needs torch, and the weights that it is put over.

    Classifiers are calibrated on the valid split, so that of ten answers given at 70 % seven are right.
    """
    run = Run(folder)
    if run.recipe.model == "naive_bayes":
        from heartfelt.training.gate import export_gate

        made = export_gate(run, to, data)
    elif run.recipe.model == "listener_lm":
        from heartfelt.training.adapter import export_adapter

        made = export_adapter(run, to)
    elif run.recipe.settings.get("lora_rank"):
        from heartfelt.training.matcher_adapter import export_matcher

        made = export_matcher(run, to)
    else:
        from heartfelt.training.export import export as export_run

        made = export_run(run, to, data, int8=not fp32)
    size = sum(path.stat().st_size for path in (made.iterdir() if made.is_dir() else [made]))
    click.echo(f"In {made}: {size / 1e6:.1f} MB")


@click.command()
@click.argument("shipped", type=click.Path(exists=True, path_type=Path))
@click.argument("recipe", type=_PATH)
@click.option("--to", required=True, type=_PATH, help="The run folder to write.")
def restore(shipped: Path, recipe: Path, to: Path) -> None:
    """Make a finished run again of what was exported, to score it or to learn on from it (`start`, `teacher`): of an
    adapter (.gguf, .safetensors), or of an encoder's folder.

    RECIPE is the one that it was trained by: its settings say what the weights belong to.
    """
    module_of("listener_lm")  # says what is missing where torch is
    from heartfelt.training.restore import restore as make_again

    run = make_again(shipped, recipes.load(recipe), to)
    how = {"encoder_classifier": "--task contexts", "encoder_matcher": "--task pairs"}
    told = how.get(run.recipe.model, "--prefix gold")
    click.echo(f"In {run.folder}: heartfelt runs score {run.folder} {told}")


@click.command("list")
@click.argument("folder", type=_PATH, default=Path("runs"))
def list_(folder: Path) -> None:
    """List the runs below a folder: what they are, how far they are, what they score on test."""
    found = runs_below(folder)
    if not found:
        raise MissingData(f"There are no runs below {folder}: heartfelt train RECIPE")
    shown = table("run", "task", "model", "minutes", "test")
    for run in found:
        results = run.results
        test = (results or {}).get("scores", {}).get("test", {})
        score = ", ".join(f"{head} {_foremost(metrics)}" for head, metrics in test.items())
        minutes = str(results["minutes"]) if results else "unfinished"
        shown.add_row(str(run.folder), run.recipe.task, run.recipe.model, minutes, score)
    console().print(shown)


def _foremost(metrics: dict[str, Any]) -> str:
    for name, title in (("ppl", "ppl"), ("p_at_1", "P@1,100")):
        if name in metrics:
            return f"{title} {metrics[name][0]:.2f}"
    return f"{metrics['accuracy_1'][0]:.4f}"


@click.command()
@click.argument("folder", type=_PATH)
@click.option("--unseen", is_flag=True, help="Also score the test items whose text no training item has.")
@data_option
@click.option("--json", "as_json", is_flag=True, help="Print JSON.")
def show(folder: Path, unseen: bool, data: Path | None, as_json: bool) -> None:
    """Show a run: its recipe and what it scored."""
    run = Run(folder)
    recipe, results = run.recipe, run.results
    new = _unseen(run, data) if unseen else None
    if as_json:
        shown = {"recipe": recipes.dump(recipe), "results": results, **({"unseen": new} if new else {})}
        click.echo(json.dumps(shown, indent=2, ensure_ascii=False))
        return
    click.echo(recipes.dump(recipe))
    if results is None:
        click.echo(f"Unfinished: heartfelt train RECIPE --to {folder} goes on with it.")
        return
    if new is None:
        _show([results])
    else:
        _show([{"scores": {**results["scores"], "test, unseen": new["scores"]}}])
        click.echo(f"Left out of test, unseen: {new['seen']:,} items whose text a training item has")
    _tell_extra(results)
    _show_members(results)
    click.echo(f"{results['parameters']:,} parameters, {results['minutes']} minutes")


def _unseen(run: Run, data: Path | None) -> dict[str, Any]:
    from heartfelt.training.predictions import unseen_scores

    return unseen_scores(run, data)


@click.command()
@click.argument("folder", metavar="RUN", type=_PATH)
@click.option("--to", type=_PATH, help="The HTML file to write (default: report.html in the run folder).")
@data_option
def report(folder: Path, to: Path | None, data: Path | None) -> None:
    """Write a page on a finished classifier: what it takes for what, label by label, how far to believe its chances."""
    from heartfelt.training import report as reports

    made = reports.report(Run(folder), data)
    path = to or folder / "report.html"
    reports.write(path, made)
    _show([made.results])
    for head in made.heads:
        pairs = table("most confused", "together", "one way", "the other way", "of their items",
                      right=("together", "of their items"))  # fmt: skip
        for pair in head.pairs:
            pairs.add_row(
                f"{pair.a}, {pair.b}", f"{pair.together:,}", f"{pair.a} → {pair.b} {pair.a_as_b:,}",
                f"{pair.b} → {pair.a} {pair.b_as_a:,}", f"{pair.share:.1%}",
            )  # fmt: skip
        click.echo(f"\n{head.name}: true → said, {head.items:,} test items")
        console().print(pairs)
        before, after = head.before.ece.value, head.after.ece.value
        click.echo(
            f"ECE {before:.4f}, and {after:.4f} at temperature {head.temperature:.2f}, fitted on valid"
        )
    click.echo(f"\nWrote {path}")


@click.command()
@click.argument("folders", metavar="RUN RUN...", nargs=-1, required=True, type=_PATH)
@click.option("--to", required=True, type=_PATH, help="The folder to write, like a run's.")
@click.option("--fit", is_flag=True, help="Weights that fit the valid split best, in place of equal ones.")
@data_option
def ensemble(folders: tuple[Path, ...], to: Path, fit: bool, data: Path | None) -> None:
    """Average the chances of finished runs, each calibrated on valid, on the items that all of them have.

    Runs may be of different models, and of tasks of which one contains the other's items: for each head that all of
    them have (situations and everything: emotion).
    """
    from heartfelt.training.ensemble import ensemble as average

    results = average([Run(folder) for folder in folders], to, fit, data)
    _show([results])
    _show_members(results)
    click.echo(f"In {to}")


@click.command()
@click.argument("folders", metavar="RUN RUN...", nargs=-1, required=True, type=_PATH)
@click.option("--to", required=True, type=_PATH, help="The run folder to write.")
@data_option
def soup(folders: tuple[Path, ...], to: Path, data: Path | None) -> None:
    """Average the weights of finished runs that started alike (`start`, other seeds) into one model.

    It is as large as one of them, and is exported and scored like any run.
    """
    from heartfelt.training.soup import soup as average

    with counting("Scoring") as step:
        results = average([Run(folder) for folder in folders], to, data, step)
    _show([results])
    click.echo(f"In {to}")


def _show_members(results: dict[str, Any]) -> None:
    """What an ensemble averages, scored on its items."""
    if not (members := results.get("members")):
        return
    numbers = ("weight", "temperature", "accuracy on valid", "on test")
    shown = table("member", "model", "head", *numbers, right=numbers)
    for member in members:
        for head, weight in member["weights"].items():
            found = [member["scores"][split].get(head) for split in ("valid", "test")]
            accuracy = [f"{each['accuracy_1'][0]:.4f}" if each else "–" for each in found]
            warmth = f"{member['temperatures'][head]:.2f}"
            shown.add_row(member["run"], member["model"], head, f"{weight:.3f}", warmth, *accuracy)
    console().print(shown)
    of = ", ".join(f"{member['run']} {member['items']['test']:,}" for member in members)
    click.echo(f"On the {results['items']['test']:,} test items that all members have (of {of})")


@click.command()
@click.argument("folders", metavar="RUN...", nargs=-1, required=True, type=_PATH)
@click.option("--to", type=_PATH, default=Path("results/recognise"), show_default=True, help="Folder.")
def keep(folders: tuple[Path, ...], to: Path) -> None:
    """Copy recipe and results of finished runs as one small JSON each, to commit: no paths of this machine.

    RUN is a run folder, or a folder of seeds (seed-0, seed-1 …), which gives mean and standard deviation.
    """
    for path in keeping.keep(folders, to):
        click.echo(f"Wrote {path}")
