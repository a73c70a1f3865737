"""`heartfelt knowledge` and `heartfelt concepts` as a user types them, on small files of our own."""

import json
import subprocess
import sys
from pathlib import Path

import pytest

from heartfelt import cli
from heartfelt.corpora import data_folder
from heartfelt.knowledge.folder import build, found_sources, knowledge_folder, open_knowledge
from heartfelt.models.weights import weights_folder
from tests.conftest import skip
from tests.test_cli import assert_one_line, heartfelt

WEIGHTS = weights_folder()  # before a fixture hides the user's cache

pytest.importorskip("keybert")

EDGES = """IsA\tpanic\tfear\t3.5
Causes\tdog\thappiness\t3
Desires\tdog\tbone\t2
AtLocation\tdog\tkennel\t9
HasProperty\tdog\tdogs\t9
"""
VAD = "happiness\t0.96\t0.732\t0.85\npanic\t0.1\t0.9\t0.3\n"
GLOVE = "dog 1 0 0\nbone 1 1 0\nhappiness 0 1 1\nfear 0 0 1\npanic 0 1 1\n"


@pytest.fixture
def sources(tmp_path: Path) -> Path:
    """A data folder with knowledge as it is published."""
    for name, text in (
        ("conceptnet/cn100k_train100k.txt", EDGES),
        ("nrc_vad/NRC-VAD-Lexicon.txt", VAD),
        ("glove/glove.6B.3d.txt", GLOVE),
    ):
        path = tmp_path / "data" / name
        path.parent.mkdir(parents=True)
        path.write_text(text)
    return tmp_path / "data"


@pytest.fixture
def built(sources: Path) -> Path:
    build(sources / "knowledge", found_sources(sources))
    return sources / "knowledge"


def test_build_and_show(sources: Path) -> None:
    made = heartfelt("knowledge", "build", HEARTFELT_DATA=str(sources))
    assert made.returncode == 0, made.stderr
    assert "cn100k_train100k.txt: 5 lines, 5 taken, 0 broken" in made.stdout
    assert sorted(path.name for path in (sources / "knowledge").iterdir()) == [
        "conceptnet.sqlite", "vad.words", "vectors.words",
    ]  # fmt: skip
    shown = heartfelt("knowledge", "show", HEARTFELT_DATA=str(sources)).stdout
    assert "5 edges of ConceptNet" in shown
    assert "5 words as vectors of 3" in shown


def test_only_what_is_named_is_built(sources: Path, tmp_path: Path) -> None:
    vad = sources / "nrc_vad" / "NRC-VAD-Lexicon.txt"
    made = heartfelt("knowledge", "build", "--vad", vad, "--to", tmp_path / "k", HEARTFELT_DATA=str(sources))
    assert made.returncode == 0
    assert [path.name for path in (tmp_path / "k").iterdir()] == ["vad.words"]


def test_what_is_missing_is_said_with_the_command_that_mends_it(tmp_path: Path) -> None:
    empty = {"HEARTFELT_DATA": str(tmp_path)}
    said = assert_one_line(heartfelt("knowledge", "build", **empty))
    assert "--conceptnet" in said
    said = assert_one_line(heartfelt("concepts", "I am in fear", **empty))
    assert f"heartfelt knowledge build --to {tmp_path / 'knowledge'}" in said
    assert_one_line(heartfelt("knowledge", "build", "--vad", tmp_path / "none.txt", "--to", tmp_path / "k"))
    assert not (tmp_path / "k").exists()
    for arguments in (
        (),
        ("hello", "--corpus", "empathetic_dialogues"),
        ("--corpus", "empathetic_dialogues"),
        (" ",),
    ):
        assert_one_line(heartfelt("concepts", *arguments, **empty))
    assert "There is no corpus" in assert_one_line(
        heartfelt("concepts", "--corpus", "none", "--to", tmp_path / "x")
    )


def test_where_knowledge_lies(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    assert knowledge_folder() == data_folder() / "knowledge"
    monkeypatch.setenv("HEARTFELT_KNOWLEDGE", str(tmp_path))
    assert knowledge_folder() == tmp_path
    assert knowledge_folder("here") == Path("here")


def run(capsys: pytest.CaptureFixture[str], *arguments: str | Path) -> str:
    """In this process: torch and scikit-learn are loaded once for all tests."""
    with pytest.raises(SystemExit) as stop:
        cli.main([*map(str, arguments)])
    out, err = capsys.readouterr()
    assert stop.value.code == 0, err
    return out


def test_concepts_by_the_shipped_encoder(
    built: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    page = tmp_path / "c.html"
    options = ("--encoder", "shipped", "--knowledge", built)
    shown = run(capsys, "concepts", "My dog is in fear", *options, "--html", page)
    assert "dog      →  causes    happiness" in shown
    assert "fear     ←  is a      panic" in shown
    assert "kennel" not in shown, "AtLocation is left out"
    assert "panic" in page.read_text()
    told = json.loads(run(capsys, "concepts", "My dog", "is in fear", *options, "--json"))
    first = told["concepts"][0]
    # panic: √(.4² + .45²) / √½ = .85147; cosine of (0,0,1) and (0,1,1) = .70711; (3.5 - 1) / 9 = .27778
    assert first["plain"] == "fear <is a> panic"
    assert first["score"] == pytest.approx(0.85147 + 0.70711 + 0.27778, abs=2e-5)
    assert set(told["keywords"]) == {"dog", "fear"}
    none = run(capsys, "concepts", "Zebra!", *options)
    assert "No concept" in none


def test_concepts_of_a_corpus(
    built: Path, fixtures: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    to = tmp_path / "concepts.jsonl"
    options = ("--encoder", "shipped", "--knowledge", built, "--data", fixtures, "--to", to)
    said = run(
        capsys, "concepts", "--corpus", "empathetic_dialogues", "--split", "train", *options, "--limit", "2"
    )
    assert f"{to}: 2 texts" in said
    assert "3 texts" in run(
        capsys, "concepts", "--corpus", "empathetic_dialogues", "--split", "train", *options
    )


def test_the_papers_example(data: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Figure 2 of liu2021, with MiniLM in place of DistilBERT and our cuts of ConceptNet."""
    if not (WEIGHTS / "minilm").is_dir():
        skip("MiniLM's weights: heartfelt models pull minilm")
    monkeypatch.setenv("HEARTFELT_WEIGHTS", str(WEIGHTS))
    from heartfelt.models.sentences import sentence_embedder

    build(tmp_path, found_sources(data))
    extractor = open_knowledge(tmp_path).extractor(sentence_embedder("minilm"))
    text = (
        "I am being in fear lately. oh no! Any particular reason why? "
        "I stared to cough blood 3 days ago and I fear it must be cancer."
    )
    keywords = extractor.keywords(text)
    assert {word for word, _ in keywords[:4]} == {"cancer", "cough", "fear", "blood"}
    found = extractor(text)
    assert len(found) == 10
    assert {"fear", "cancer", "blood"} <= {one.keyword for one in found}
    assert "cancer <is a> illness" in [one.plain for one in found]


def test_no_torch_is_needed(built: Path) -> None:
    """With KeyBERT installed without what it declares, and the shipped encoder behind it."""
    script = (
        "import sys\n"
        "class Absent:\n"
        "    def find_spec(self, name, path=None, target=None):\n"
        "        if name.split('.')[0] in ('torch', 'transformers', 'sentence_transformers'):\n"
        "            raise ModuleNotFoundError(name)\n"
        "sys.meta_path.insert(0, Absent())\n"
        "from heartfelt import cli\n"
        f"cli.main(['concepts', 'My dog is in fear', '--encoder', 'shipped', '--knowledge', {str(built)!r}])\n"
    )
    done = subprocess.run([sys.executable, "-c", script], capture_output=True, text=True, timeout=120)
    assert done.returncode == 0, done.stderr
    assert "panic" in done.stdout
