"""Every command that the docs show exists, with the options that they show."""

import re
import shlex
from pathlib import Path

import click
import pytest

from heartfelt import cli

ROOT = Path(__file__).parent.parent
PAGES = sorted([ROOT / "README.md", ROOT / "CONTRIBUTING.md", *(ROOT / "docs").glob("*.md")])
SHOWN = [
    pytest.param(line, id=f"{page.name}: {line[:60]}")
    for page in PAGES
    for line in re.findall(r"^\$ (heartfelt .+?)(?:\s+#.*)?$", page.read_text(encoding="utf-8"), re.M)
]


def test_the_readme_shows_commands() -> None:
    assert len(SHOWN) >= 3


@pytest.mark.parametrize("line", SHOWN)
def test_a_shown_command_exists(line: str) -> None:
    words = shlex.split(line.split("|")[0].split(">")[0])[1:]
    command: click.Command | None = cli.app
    context = click.Context(cli.app)
    while isinstance(command, click.Group):
        name = words.pop(0)
        if name.startswith("-"):
            return
        command = command.get_command(context, name)
    assert command is not None, f"there is no command: {line}"
    known = {option for parameter in command.params for option in parameter.opts} | {"--help", "--traceback"}
    assert {word.split("=")[0] for word in words if word.startswith("--")} <= known


def test_make_targets_in_the_docs_exist() -> None:
    targets = set(re.findall(r"^([a-z]+):", (ROOT / "Makefile").read_text(), re.M))
    for page in PAGES:
        shown = re.findall(r"`make ([a-z]+)`|^\$ make ([a-z]+)", page.read_text(encoding="utf-8"), re.M)
        assert {name for pair in shown for name in pair if name} <= targets, page.name
