"""Golden rows: every reader on self-written files in its corpus's real format, whole output compared.

After a change that is meant: `python tests/corpora/test_golden.py` writes the golden files anew; read the diff.
"""

from pathlib import Path

import pytest

from heartfelt import corpora
from heartfelt.files import Faults

FIXTURES = Path(__file__).parent / "fixtures"
GOLDEN = Path(__file__).parent / "golden"


def read_all(name: str) -> str:
    said = []
    faults = Faults()
    for split in corpora.CORPORA[name].splits:
        for dialogue in corpora.load(name, split, data=FIXTURES, faults=faults):
            said.append(f"{split} {dialogue.to_json()}")
    for path, line, reason in faults.first:
        said.append(f"fault {path.relative_to(FIXTURES).as_posix()}:{line}: {reason}")
    return "\n".join(said) + "\n"


@pytest.mark.parametrize("name", corpora.CORPORA)
def test_golden_rows(name: str) -> None:
    assert read_all(name) == (GOLDEN / f"{name}.txt").read_text(encoding="utf-8")


@pytest.mark.parametrize("name", corpora.CORPORA)
def test_every_corpus_says_what_it_is(name: str) -> None:
    corpus = corpora.CORPORA[name]
    for section in ("Source", "Licence", "Fields", "Known faults"):
        assert corpus.section(section), f"{name} does not say its {section}"
    assert len(corpus.title) < 110


@pytest.mark.parametrize("name", corpora.CORPORA)
def test_labels_are_of_the_corpus_own_set(name: str) -> None:
    known = set(corpora.CORPORA[name].labels)
    found = {turn.label for d in corpora.load(name, data=FIXTURES, faults=Faults()) for turn in d.turns}
    assert found - {None} <= known
    assert bool(found - {None}) == bool(known)


if __name__ == "__main__":
    for corpus_name in corpora.CORPORA:
        (GOLDEN / f"{corpus_name}.txt").write_text(read_all(corpus_name), encoding="utf-8")
