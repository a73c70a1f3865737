"""ConceptNet's index: every form that is published, nothing lost or doubled, whenever it is killed."""

import gzip
import json
import signal
import sqlite3
import subprocess
import sys
import time
from pathlib import Path

import pytest

from heartfelt.errors import BadData, HeartfeltError, MissingData
from heartfelt.knowledge import indexing
from heartfelt.knowledge.assertions import Broken, Edge, api, cn100k, official
from heartfelt.knowledge.conceptnet import ConceptNet, Neighbour
from heartfelt.knowledge.indexing import build


def assertion(start: str, relation: str, end: str, weight: float) -> str:
    facts = json.dumps(
        {"dataset": "/d/conceptnet/4/en", "license": "cc:by/4.0", "sources": [], "weight": weight}
    )
    return f"/a/[/r/{relation}/,{start}/,{end}/]\t/r/{relation}\t{start}\t{end}\t{facts}\n"


LONELY = assertion("/c/en/loneliness/n", "CausesDesire", "/c/en/socialize", 3.464)


def test_an_official_line() -> None:
    assert official(LONELY.encode()) == Edge("loneliness", "CausesDesire", "socialize", 3.464)
    sense = assertion("/c/en/blood_cell/n/wn/body", "PartOf", "/c/en/blood", 2)
    assert official(sense.encode()) == Edge("blood cell", "PartOf", "blood", 2.0)
    assert official(assertion("/c/fr/peur", "Synonym", "/c/en/fear", 1).encode()) is None
    assert official(assertion("/c/en/fear", "ExternalURL", "http://example.org/x", 1).encode()) is None
    assert official(assertion("/c/en/jazz", "dbpedia/genre", "/c/en/music", 1).encode()) == Edge(
        "jazz", "dbpedia/genre", "music", 1.0
    )


@pytest.mark.parametrize(
    "line",
    [
        b"", b"\n", b"\t\t\t\t", LONELY[:60].encode(), LONELY.replace("weight", "height").encode(),
        LONELY.replace("3.464", '"heavy"').encode(), LONELY.replace("3.464", "-1").encode(),
        LONELY.replace("/c/en/socialize", "/c/en/").encode(), LONELY.encode().replace(b"socialize", b"\xff"),
        LONELY.replace("socialize", "x" * 300).encode(), LONELY.replace("\t", " ").encode(),
    ],
)  # fmt: skip
def test_a_broken_official_line(line: bytes) -> None:
    with pytest.raises(Broken):
        official(line)


def test_the_two_cuts() -> None:
    assert api(b"head\trelation\ttail\tweight\tdataset\tlicense\n") is None
    assert api(b"away/r\tSynonym\tfar_off/r\t2.5\t/d/wordnet\tcc\r\n") == Edge(
        "away", "Synonym", "far off", 2.5
    )
    assert cn100k(b"HasA\tdog\tfour leg\t2.0\n") == Edge("dog", "HasA", "four leg", 2.0)
    assert cn100k(b"IsA\tdog\tcar\t0\n") is None, "said to be false"
    for reader in (api, cn100k):
        for line in (b"a\tb\n", b"IsA\tdog\t\tx\n", b"IsA\tdog\tcat\tnan\n"):
            with pytest.raises(Broken):
                reader(line)


def write(path: Path, text: str) -> Path:
    path.write_bytes(gzip.compress(text.encode()) if path.suffix == ".gz" else text.encode())
    return path


def test_an_index_answers_from_both_ends(tmp_path: Path) -> None:
    source = write(
        tmp_path / "assertions.csv.gz",
        LONELY
        + assertion("/c/en/panic/n", "IsA", "/c/en/fear", 2)
        + assertion("/c/en/panic/v", "IsA", "/c/en/fear", 2.5)  # another sense: the greater weight counts
        + "broken\n"
        + assertion("/c/de/angst", "Synonym", "/c/de/furcht", 2)
        + assertion("/c/en/fear/n", "RelatedTo", "/c/en/fear/v", 2)  # itself
        + assertion("/c/en/fear", "RelatedTo", "/c/en/dark", 1),
    )
    card = build(tmp_path / "i.sqlite", [source])
    graph = ConceptNet(tmp_path / "i.sqlite")
    assert (card.edges, len(graph)) == (3, 3)
    (told,) = graph.card.sources
    assert (told.lines, told.taken, told.broken) == (7, 4, 1)
    assert graph.about("loneliness") == [Neighbour("CausesDesire", "socialize", 3.464, False)]
    assert graph.about("socialize") == [Neighbour("CausesDesire", "loneliness", 3.464, True)]
    assert graph.about("fear") == [
        Neighbour("IsA", "panic", 2.5, True),
        Neighbour("RelatedTo", "dark", 1.0, False),
    ]
    assert graph.about("fear", 1.9) == [Neighbour("IsA", "panic", 2.5, True)]
    assert graph.about("angst") == graph.about("Fear") == []
    assert sorted(path.name for path in tmp_path.iterdir()) == ["assertions.csv.gz", "i.sqlite"]


def test_several_sources_become_one(tmp_path: Path) -> None:
    files = [
        write(tmp_path / "a.csv", LONELY),
        write(tmp_path / "b.txt", "CausesDesire\tloneliness\tsocialize\t2.8\nHasA\tdog\ttail\t2\n"),
        write(tmp_path / "c.tsv", "head\trelation\ttail\tweight\nfear/n\tIsA\tfeeling\t3\n"),
    ]
    build(tmp_path / "i.sqlite", files)
    graph = ConceptNet(tmp_path / "i.sqlite")
    assert len(graph) == 3
    assert graph.about("loneliness")[0].weight == 3.464
    assert graph.about("tail")[0].concept == "dog"
    assert graph.about("fear")[0].concept == "feeling"


def many(count: int) -> str:
    lines = []
    for number in range(count):
        lines.append(
            assertion(f"/c/en/word_{number % 97}", "RelatedTo", f"/c/en/thing_{number}", 1 + number % 9)
        )
        if number % 10 == 3:
            lines.append("broken\n")
    return "".join(lines)


def everything(path: Path) -> list[tuple[object, ...]]:
    return sqlite3.connect(path).execute("SELECT * FROM facts ORDER BY 1, 2, 3, 4, 5").fetchall()


class Stopped(BaseException):
    pass


def test_killed_anywhere_and_gone_on_with_gives_the_same(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(indexing, "PART", 50)
    source = write(tmp_path / "a.csv.gz", many(500))
    unbroken = build(tmp_path / "whole.sqlite", [source])
    stops = 0
    for stop_at in range(1, 100):
        steps = 0

        def step(_: str, stop_at: int = stop_at) -> None:
            nonlocal steps
            steps += 1
            if steps == stop_at:
                raise Stopped

        path = tmp_path / f"{stop_at}.sqlite"
        try:
            build(path, [source], step)
        except Stopped:
            stops += 1
            assert not path.exists()
            assert build(path, [source]) == unbroken
        else:
            break
        assert everything(path) == everything(tmp_path / "whole.sqlite")
    assert stops == 12, "550 lines in parts of 50, and the rest"
    assert unbroken.sources[0].broken == 50


def test_an_interrupt_while_sorting(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(indexing, "_OFTEN", 1000)
    source = write(tmp_path / "a.csv", many(500))

    def interrupt(said: str) -> None:
        if said == "sorting":
            raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        build(tmp_path / "i.sqlite", [source], interrupt)
    assert sorted(path.name for path in tmp_path.iterdir()) == [".i.sqlite.part", "a.csv"]
    assert build(tmp_path / "i.sqlite", [source]).edges == 500


def test_what_was_read_is_not_read_again(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(indexing, "PART", 50)
    source = write(tmp_path / "a.csv.gz", many(500))

    def stop(said: str) -> None:
        if " 300 lines" in said:
            raise Stopped

    with pytest.raises(Stopped):
        build(tmp_path / "i.sqlite", [source], stop)
    said: list[str] = []
    build(tmp_path / "i.sqlite", [source], said.append)
    assert " 350 lines" in said[0]


def test_a_source_that_changed_is_read_anew(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(indexing, "PART", 50)
    source = write(tmp_path / "a.csv.gz", many(500))

    def stop(_: str) -> None:
        raise Stopped

    with pytest.raises(Stopped):
        build(tmp_path / "i.sqlite", [source], stop)
    write(source, LONELY)
    assert build(tmp_path / "i.sqlite", [source]).edges == 1
    (tmp_path / ".i.sqlite.part").write_bytes(b"not a database, and long enough to be looked at " * 100)
    assert build(tmp_path / "i.sqlite", [source]).edges == 1


def test_a_real_kill(tmp_path: Path) -> None:
    """SIGKILL leaves no time to tidy up."""
    source = write(tmp_path / "a.csv", many(60_000))
    script = (
        "import sys, pathlib\nfrom heartfelt.knowledge import indexing\nindexing.PART = 500\n"
        "indexing.build(pathlib.Path(sys.argv[1]), [pathlib.Path(sys.argv[2])], lambda s: print(s, flush=True))\n"
    )
    path = tmp_path / "i.sqlite"
    with subprocess.Popen(
        [sys.executable, "-c", script, str(path), str(source)], stdout=subprocess.PIPE, text=True
    ) as process:
        assert process.stdout
        for _ in range(7):
            process.stdout.readline()
        time.sleep(0.02)
        process.send_signal(signal.SIGKILL)
    assert not path.exists()
    assert (tmp_path / ".i.sqlite.part").exists()
    assert build(path, [source]) == build(tmp_path / "whole.sqlite", [source])
    assert everything(path) == everything(tmp_path / "whole.sqlite")


def test_a_file_that_is_cut_off_is_refused_and_an_old_index_stays(tmp_path: Path) -> None:
    path = tmp_path / "i.sqlite"
    source = write(tmp_path / "a.csv.gz", LONELY)
    build(path, [source])
    whole = gzip.compress(many(5000).encode())
    source.write_bytes(whole[: len(whole) // 2])
    with pytest.raises(BadData, match=r"cut off after line [\d,]+"):
        build(path, [source])
    assert len(ConceptNet(path)) == 1


def test_what_is_no_conceptnet(tmp_path: Path) -> None:
    with pytest.raises(BadData, match="not of ConceptNet"):
        build(tmp_path / "i.sqlite", [write(tmp_path / "a.txt", "once upon a time\n" * 2000)])
    with pytest.raises(BadData, match="No English edge"):
        build(tmp_path / "i.sqlite", [write(tmp_path / "a.csv", assertion("/c/de/a", "IsA", "/c/de/b", 2))])
    with pytest.raises(MissingData):
        build(tmp_path / "i.sqlite", [tmp_path / "none.csv.gz"])
    with pytest.raises(MissingData, match="knowledge build"):
        ConceptNet(tmp_path / "none.sqlite")
    for content in (b"", b"no database at all" * 100):
        (tmp_path / "bad.sqlite").write_bytes(content)
        with pytest.raises(BadData, match="knowledge build"):
            ConceptNet(tmp_path / "bad.sqlite")


def test_two_builds_at_once(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(indexing, "PART", 50)
    connect = sqlite3.connect
    monkeypatch.setattr(sqlite3, "connect", lambda *a, **k: connect(*a, **{"timeout": 0.05, **k}))
    source = write(tmp_path / "a.csv", many(500))
    refused = []

    def meddle(_: str) -> None:
        if not refused:
            refused.append(True)
            with pytest.raises(HeartfeltError, match="another build"):
                build(tmp_path / "i.sqlite", [source])

    assert build(tmp_path / "i.sqlite", [source], meddle).edges == 500
    assert refused
