"""Which runs a recipe needs before it can be trained: what it starts from, prepends, reads along with, re-ranks."""

from collections.abc import Iterator
from pathlib import Path

from heartfelt.errors import MissingData
from heartfelt.recipe import Recipe, load


def needed(recipe: Recipe) -> Iterator[str]:
    """The folders that a recipe names."""
    settings = recipe.settings
    named = [
        recipe.start,
        recipe.prepend.run if recipe.prepend else "",
        *(recipe.teacher.runs if recipe.teacher else ()),
    ]
    named += [settings.get("second", ""), settings.get("shortlist", ""), *settings.get("readers", ())]
    yield from dict.fromkeys(str(one) for one in named if one)


def in_order(recipe: Path, recipes: Path, runs: Path) -> list[tuple[Path, Path]]:
    """(recipe, run folder) of all that must be trained, what is needed first; the recipe itself comes last.

    A run that is there and finished is not trained again; of one that is not, the recipe is found by its name.
    """
    found: dict[Path, Path] = {}

    def visit(path: Path, folder: Path, above: tuple[Path, ...]) -> None:
        if path in above:
            raise MissingData(f"{path} needs itself: {' → '.join(one.name for one in (*above, path))}")
        for name in needed(load(path)):
            place = runs / Path(name).name
            if (place / "results.json").is_file():
                continue
            at = sorted(recipes.glob(f"*/{place.name}.yaml"), key=lambda one: one.parent != path.parent)
            if not at:
                raise MissingData(
                    f"{path.name} needs the run {place.name}, which is not in {runs}, and no recipe has that name"
                )
            visit(at[0], place, (*above, path))
        found.setdefault(path, folder)

    visit(recipe, runs / recipe.name.removesuffix(".yaml"), ())
    return list(found.items())
