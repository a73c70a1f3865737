"""The report: figures by hand, simulated studies with known truth, the papers' layouts, and every format."""

import json
import random
from collections import Counter
from itertools import combinations
from pathlib import Path
from typing import Any

import msgspec
import numpy as np
import pytest

from heartfelt import cli
from heartfelt.errors import InvalidValue, UnknownName
from heartfelt.evaluation.table import tex
from heartfelt.study import assignment, flow
from heartfelt.study.file import Study, parse
from heartfelt.study.items import Item
from heartfelt.study.layouts import layout, tables
from heartfelt.study.preferences import preferences
from heartfelt.study.quality import filtered
from heartfelt.study.records import Judged, Work
from heartfelt.study.report import analysed, page
from tests.study.conftest import SYSTEMS, store_in, study_in
from tests.study.simulated import QUALITY, area, items, study_of

SORT = parse("name: sim\nkind: sort\nitems: x\nbonus: 3")
LIKERT = parse("name: sim\nkind: likert\nitems: x\ntogether: true\nquestions: [{name: empathy, ask: kind}]")
CHOOSE = parse("name: sim\nkind: choose\nitems: x")


def one_work(rater: str, answers: list[tuple[Item, Any]], batch: int = 0, minutes: float = 20) -> Work:
    judged = tuple(
        Judged(item, value, value, tuple(item.replies), False, False, 1.0) for item, value in answers
    )
    return Work(f"{rater}{batch}", rater, None, batch, 0.0, minutes * 60, minutes * 60, "c", judged, 0, 0)


def test_figures_by_hand() -> None:
    """Two raters, three dialogues, two systems: small enough to work out on paper."""
    found = [Item(f"d{i}", ("c",), {"a": "x", "b": "y"}, dialogue=f"d{i}", group="set") for i in range(3)]
    said = {
        "r1": [("good", "bad"), ("good", "okay"), ("okay", "bad")],
        "r2": [("good", "bad"), ("okay", "okay"), ("bad", "good")],
    }
    works = [
        one_work(
            r,
            [
                (item, {"areas": dict(zip("ab", pair, strict=True))})
                for item, pair in zip(found, given, strict=True)
            ],
        )
        for r, given in said.items()
    ]
    report = analysed(SORT, works, resamples=100)
    assert report.systems == ("a", "b")
    a = report.scores["area"]["a"]
    assert a.value == pytest.approx((1 + 1 + 0.5 + 1 + 0.5 + 0) / 6)
    assert a.error == pytest.approx(np.std([1, 1, 0.5, 1, 0.5, 0], ddof=1) / np.sqrt(6))
    assert report.shares["set"]["b"]["bad"].value == pytest.approx(3 / 6)
    # Six replies by two raters: they agree on 3 (a0 good, b0 bad, b1 okay); 4 good, 4 okay, 4 bad of 12.
    kappa = report.agreement[0].fleiss.value
    assert kappa == pytest.approx((3 / 6 - 3 * (4 / 12) ** 2) / (1 - 3 * (4 / 12) ** 2))
    (ranking,) = [one for one in report.ranking if one.system == "a"]
    assert (ranking.wins, ranking.comparisons) == (4.5, 6)  # r1: won 3; r2: won, tied, lost
    test = report.tests[0]
    assert test.difference is not None
    assert test.difference.difference == pytest.approx(np.mean([1, 0.75, 0.25]) - np.mean([0, 0.5, 0.5]))
    pairs = list(preferences(SORT, works))
    assert [(p.dialogue, p.chosen_system, p.margin) for p in pairs] == [
        ("d0", "a", 1.0),
        ("d1", "a", 0.25),
        ("d2", "b", 0.25),
    ]
    assert [p.dialogue for p in preferences(SORT, works, margin=0.5)] == ["d0"]


def test_known_truth_is_recovered() -> None:
    """Means within their intervals about 95 times in 100, kappa too, and the ranking is the true one."""
    truth = analysed(SORT, study_of("sort", items(1500), 1, pool=300), resamples=0)
    means = {s: e.value for s, e in truth.scores["area"].items()}
    kappa = truth.agreement[0].fleiss.value
    hits: Counter[str] = Counter()
    studies = 25
    for seed in range(studies):
        report = analysed(SORT, study_of("sort", items(60), 100 + seed), resamples=300)
        for system, estimate in report.scores["area"].items():
            hits["mean"] += estimate.low <= means[system] <= estimate.high  # type: ignore[operator]
        found = report.agreement[0].fleiss
        hits["kappa"] += found.low <= kappa <= found.high  # type: ignore[operator]
        hits["order"] += [one.system for one in report.ranking] == sorted(QUALITY, key=lambda s: -QUALITY[s])
        hits["tests"] += all(test.p_holm is not None and test.p_holm < 0.05 for test in report.tests)
    assert hits["mean"] >= 0.88 * 3 * studies, hits
    assert hits["kappa"] >= 0.8 * studies, hits
    assert hits["order"] == studies
    assert hits["tests"] == studies


def test_likert_and_choices_recover_the_truth() -> None:
    big = analysed(LIKERT, study_of("likert", items(1500), 2, pool=300), resamples=0)
    report = analysed(LIKERT, study_of("likert", items(80), 3), resamples=300)
    for system, estimate in report.scores["empathy"].items():
        true = big.scores["empathy"][system].value
        assert estimate.low - 0.05 <= true <= estimate.high + 0.05  # type: ignore[operator]
    pairs = [
        msgspec.structs.replace(
            item, name=f"{item.name}|{a}|{b}", replies={a: item.replies[a], b: item.replies[b]}
        )
        for item in items(40)
        for a, b in combinations(QUALITY, 2)
    ]
    chosen = analysed(CHOOSE, study_of("choose", pairs, 4, pool=10), resamples=200)
    assert [one.system for one in chosen.ranking] == ["fine", "fair", "poor"]
    assert sum(c.a_wins + c.b_wins + c.ties + c.both_bad for c in chosen.choices) == 3 * 40 * 4
    assert chosen.needs[0].have == 160


def test_equal_systems_are_not_told_apart() -> None:
    """Twelve studies in which nothing differs: Holm's correction lets through about one in twenty."""
    found = 0
    for seed in range(12):
        chance = random.Random(seed)
        works = []
        for rater in range(4):
            answers = [(item, {"areas": {s: area(chance, 0.5) for s in item.replies}}) for item in items(40)]
            works.append(one_work(f"r{rater}", answers))
        found += any(
            test.p_holm is not None and test.p_holm < 0.05
            for test in analysed(SORT, works, resamples=50).tests
        )
    assert found <= 2


def test_the_filter_removes_the_planted_and_nobody_else() -> None:
    bad = {2: "same", 5: "hasty", 9: "hasty"}
    for seed in range(5):
        works = study_of("sort", items(200), seed, bad=bad, bonus=3)
        kept, out = filtered(SORT, works)
        whole = {one.rater for one in out if one.batch is None}
        assert whole == {f"r{i}" for i in bad if any(work.rater == f"r{i}" for work in works)}
        assert {work.rater for work in kept} == {f"r{i}" for i in range(12)} - whole
        report = analysed(SORT, works, resamples=50)
        assert {one["rater"] for one in report.left_out} >= whole  # and it is said
        everything = analysed(SORT, works, filters=False, resamples=50)
        assert everything.left_out == ()
        assert everything.answers == sum(len(work.answers) for work in works)
    assert (
        report.needs[0].have > 150
    )  # dialogues of the systems; the hidden replies are on fewer, and no system
    reasons = {one.rater: one.reason for one in out}
    assert "the same answer in 100%" in reasons["r2"]
    assert "2.0 minutes" in reasons["r5"]


def test_without_checks_haste_alone_condemns_nobody() -> None:
    works = [
        one_work(
            "quick",
            [
                (item, {"areas": {s: area(random.Random(i), QUALITY[s]) for s in item.replies}})
                for i, item in enumerate(items(10))
            ],
            minutes=1,
        )
    ]
    kept, out = filtered(SORT, works)
    assert (len(kept), out) == (1, [])


def _paper(questions: str) -> Study:
    return parse(f"name: p\nkind: likert\nitems: x\ntogether: true\nquestions: [{questions}]")


def _scored(study: Study, systems: dict[str, float]) -> list[Work]:
    chance = random.Random(7)
    found = [Item(f"d{i}", ("c",), dict.fromkeys(systems, "x"), dialogue=f"d{i}") for i in range(30)]
    works = []
    for rater in range(4):
        answers = []
        for item in found:
            value = {
                s: {
                    q.name: max(
                        q.low, min(q.high, round(chance.gauss(q.low + (q.high - q.low) * quality, 0.8)))
                    )
                    for q in study.questions
                }
                for s, quality in systems.items()
            }
            answers.append((item, {"scores": value}))
        works.append(one_work(f"r{rater}", answers))
    return works


def test_the_papers_layouts_by_name() -> None:
    study = _paper("{name: empathy, ask: e}, {name: relevance, ask: r}, {name: fluency, ask: f}")
    works = _scored(
        study, {"Retrieval / Fine-tuned / ED": 0.5, "Generative / Pre-trained": 0.3, "human": 0.8}
    )
    report = analysed(study, works, resamples=50)
    table = layout(report, "rashkin2019")
    assert table.columns[1:] == ("Model", "Candidate", "Empathy", "Relevance", "Fluency")
    assert [row[:3] for row in table.rows] == [
        ("Generative", "Pre-trained", "–"),
        ("Retrieval", "Fine-tuned", "ED"),
        ("Gold Response", "–", "–"),
    ]
    estimate = report.scores["empathy"]["human"]
    assert table.rows[2][3] == f"{estimate.value:.2f} ± {estimate.error:.2f}"
    assert table.best == {(1, 3), (1, 4), (1, 5)}  # the best system, people aside
    table = layout(report, "naous2021")
    assert table.columns == ("Model", "Empathy", "Relevance", "Fluency")
    assert table.rows[2] == ("human", *(f"{report.scores[q]['human'].value:.2f}" for q in report.questions))
    with pytest.raises(InvalidValue, match="needs the questions fluency, consistency"):
        layout(report, "joint2021")
    with pytest.raises(InvalidValue, match="needs a sort study"):
        layout(report, "meed2")
    with pytest.raises(UnknownName, match="rashkin2019"):
        layout(report, "rashkin")
    study = _paper(
        "{name: fluency, ask: f}, {name: consistency, ask: c}, {name: emotion_accuracy, ask: a, low: 0, high: 1}"
    )
    table = layout(
        analysed(study, _scored(study, {"BERT (JT)": 0.8, "Bi-LSTM (JT)": 0.4}), resamples=50), "joint2021"
    )
    assert table.columns == ("Model", "Flu", "Cons", "EmoAcc")
    assert table.rows[0][3].endswith("%")
    assert "emotion_accuracy 0." in table.note or "emotion_accuracy -0." in table.note
    table = layout(analysed(SORT, study_of("sort", items(40), 5, bonus=3), resamples=50), "meed2")
    assert table.columns == ("Model", "ed Good", "ed Okay", "ed Bad", "os Good", "os Okay", "os Bad")
    assert len(table.rows) == 3  # the hidden replies are no system
    for row in table.rows:
        assert sum(float(cell) for cell in row[1:4]) == pytest.approx(1, abs=2e-4)
        assert all(cell.startswith(".") for cell in row[1:4] if cell != "1.0000")


def test_every_format_and_nothing_hostile() -> None:
    works = study_of("sort", items(30), 5)
    report = analysed(SORT, works, resamples=50)
    html = page(msgspec.structs.replace(report, title="<script>alert(1)</script>"))
    assert "<script>" not in html
    assert "http" not in html.replace("http-equiv", "")
    assert "by emotion" in html
    assert "by intent" in html
    for table in tables(report, everything=True):
        assert table.markdown().count("\n| ") >= len(table.rows)
        latex = table.latex()
        assert latex.count(r"\\") == 1 + len(table.rows)
        assert latex.startswith(r"\begin{table}")
    assert tex("50 % of a_b & {c} ± → \\") == r"50 \% of a\_b \& \{c\} $\pm$ $\to$ \textbackslash{}"
    assert json.loads(msgspec.json.encode(report))["needs"][0]["still"] >= 0


def test_the_commands_on_a_study_that_ran(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    store = store_in(
        tmp_path,
        study_in(tmp_path, "sort", 4, "batches: {size: 4, raters: 3}"),
        str(tmp_path / "test-sort.db"),
    )
    for _ in range(3):
        token = store.join()
        flow.consent(store, token)
        state = flow.begin(store, token)
        for place, shown in enumerate(state["pages"]):
            value = [("good", "okay", "bad")[int(text.split()[1])] for text in shown["replies"]]
            assignment.answer(store, token, state["work"], place, 1, value, 2.0)
        assignment.finish(store, token, state["work"])
    store.close()

    def run(*arguments: str) -> str:
        with pytest.raises(SystemExit) as left:
            cli.main(["study", *arguments])
        said = capsys.readouterr()
        assert left.value.code == 0, said.err
        return said.out

    path = str(tmp_path / "study.yaml")
    assert "finished 3" in run("status", path)
    assert json.loads(run("status", path, "--json"))["figures"]["complete batches"] == 1
    written = {name: str(tmp_path / f"report.{name}") for name in ("html", "latex", "markdown")}
    options = [part for name, file in written.items() for part in (f"--{name}", file)]
    said = run("report", path, "--resamples", "50", "--all", *options)
    assert "Means" in said
    assert "1.00 ± 0.00" in said
    for file in written.values():
        assert SYSTEMS[0] in Path(file).read_text()
    assert (
        json.loads(run("report", path, "--json", "--resamples", "20"))["ranking"][0]["system"] == SYSTEMS[0]
    )
    assert ".0000" in run("report", path, "--layout", "meed2", "--resamples", "20")
    run(
        "export",
        path,
        "--to",
        str(tmp_path / "answers.jsonl"),
        "--preferences",
        str(tmp_path / "pairs.jsonl"),
    )
    assert len((tmp_path / "answers.jsonl").read_text().splitlines()) == 12
    pairs = [json.loads(line) for line in (tmp_path / "pairs.jsonl").read_text().splitlines()]
    assert len(pairs) == 4 * 3
    assert all(pair["chosen"].split()[1] < pair["rejected"].split()[1] for pair in pairs)
    run("backup", path, "--to", str(tmp_path / "copy.db"))
    assert (tmp_path / "copy.db").stat().st_size > 0
    assert run("links", path, "--count", "2").count("/r/") == 2
