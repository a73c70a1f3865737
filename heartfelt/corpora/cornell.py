"""Cornell Movie-Dialogs: film scenes with their true speakers (Danescu-Niculescu-Mizil & Lee 2011).

Source: https://www.cs.cornell.edu/~cristian/Cornell_Movie-Dialogs_Corpus.html
Licence: for research
Fields: a turn's speaker is the character's name, or id where two of one name talk; meta keeps `film`,
`characters` (their ids) and `lines`.
Known faults: 193 of 234,628 lines have no text; such turns are left out. The original is in ISO-8859-1. In
some copies characters of unknown gender, and so a quarter of the lines, are missing. No splits.
"""

import re
from collections.abc import Iterator
from pathlib import Path

from heartfelt.corpora.corpus import Corpus, Download
from heartfelt.dialogue import Dialogue, Turn
from heartfelt.files import Faults, lines

_CUT = " +++$+++ "
_IDS = re.compile(r"'([^']*)'")

Line = tuple[str, str, str]  # character's id, character's name, text


def read(folder: Path, split: str, faults: Faults) -> Iterator[Dialogue]:
    path = folder / "movie_conversations.txt"
    films = _films(folder / "movie_lines.txt", faults)
    film_name, film = "", dict[str, Line]()
    passed: dict[str, dict[str, Line]] = {}  # films of the lines file that come later in the other one
    for number, line in lines(path, faults, fallback="latin-1"):
        fields = line.split(_CUT)
        ids = _IDS.findall(fields[-1])
        if len(fields) != 4 or not ids:
            faults.add(path, number, "not of the form: person, person, film, ['L1', 'L2', …]")
            continue
        while fields[2] != film_name and fields[2] not in passed and (following := next(films, None)):
            passed[following[0]] = following[1]
        if fields[2] != film_name:
            film_name, film = fields[2], passed.pop(fields[2], {})
        if lost := [id_ for id_ in ids if id_ not in film]:
            faults.add(path, number, f"line {lost[0][:20]} is not in movie_lines.txt")
            continue
        said = [film[id_] for id_ in ids]
        namesakes = len({person for person, _, _ in said}) > len({name for _, name, _ in said})
        turns = tuple(Turn(person if namesakes else name, text) for person, name, text in said if text)
        if not turns:
            faults.add(path, number, "a conversation without text")
            continue
        meta = {"film": film_name, "characters": fields[:2], "lines": ids}
        yield Dialogue(f"{film_name}-{ids[0]}", turns, source=CORPUS.name, meta=meta)


def _films(path: Path, faults: Faults) -> Iterator[tuple[str, dict[str, Line]]]:
    """The lines of one film after another."""
    name, film = "", dict[str, Line]()
    for number, line in lines(path, faults, fallback="latin-1"):
        fields = line.split(_CUT)
        if len(fields) != 5 or not fields[0]:
            faults.add(path, number, "not of the form: line, person, film, name, text")
            continue
        id_, person, in_film, who, text = (field.strip() for field in fields)
        if in_film != name:
            if film:
                yield name, film
            name, film = in_film, {}
        if not text:
            faults.add(path, number, f"line {id_[:20]} has no text; the turn is left out")
        film[id_] = (person or "?", who or person or "?", text)
    if film:
        yield name, film


CORPUS = Corpus(
    name="cornell",
    about=__doc__,
    read=read,
    folder="cornell",
    shows="movie_*.txt",
    splits=("all",),
    downloads=(
        Download(
            "https://www.cs.cornell.edu/~cristian/data/cornell_movie_dialogs_corpus.zip",
            inside="cornell movie-dialogs corpus",
        ),
    ),
)
