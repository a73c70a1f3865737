"""A report as tables: our own, and the four papers' layouts by name. Each table is text, Markdown, LaTeX or HTML."""

from collections.abc import Callable, Sequence

from heartfelt.errors import InvalidValue, UnknownName
from heartfelt.evaluation.human import Estimate
from heartfelt.evaluation.table import Table
from heartfelt.study.file import AREAS, HUMAN
from heartfelt.study.report import Report, Scores

# -- our own ---------------------------------------------------------------------------------------------------------


def tables(report: Report, everything: bool = False) -> list[Table]:
    """everything: also per emotion and intent."""
    made = [_means(report, report.scores, "Means")]
    if report.shares:
        made.append(_shares(report))
    if report.choices:
        made.append(_choices(report))
    made += [_ranking(report), _agreement(report), _tests(report), _needs(report)]
    if everything:
        for name, parts in (("emotion", report.by_emotion), ("intent", report.by_intent)):
            made += [_by(report, parts, name, question) for question in report.questions if parts]
    if report.left_out:
        made.append(_left_out(report))
    return made


def _number(value: float | None, digits: int = 2) -> str:
    return "–" if value is None else f"{value:.{digits}f}"


def full(one: Estimate | None, digits: int = 2) -> str:
    """3.45 ± 0.12 [3.21, 3.69]"""
    if one is None or one.value is None:
        return "–"
    error = f" ± {one.error:.{digits}f}" if one.error is not None else ""
    ends = (
        f" [{one.low:.{digits}f}, {one.high:.{digits}f}]"
        if one.low is not None and one.high is not None
        else ""
    )
    return f"{one.value:.{digits}f}{error}{ends}"


def _best(
    columns: Sequence[Sequence[float | None]], systems: Sequence[str], first: int = 1
) -> frozenset[tuple[int, int]]:
    """The best figure of each column, people aside."""
    found = set()
    for c, column in enumerate(columns):
        own = [(value, r) for r, value in enumerate(column) if value is not None and systems[r] != HUMAN]
        if own:
            most = max(value for value, _ in own)
            found |= {(r, c + first) for value, r in own if value == most}
    return frozenset(found)


def _values(report: Report, questions: Sequence[str], systems: Sequence[str]) -> list[list[float | None]]:
    return [[e.value if (e := report.scores[q].get(s)) else None for s in systems] for q in questions]


def _means(report: Report, scores: Scores, title: str) -> Table:
    rows = [(s, *(full(scores[q].get(s)) for q in report.questions)) for s in report.systems]
    scales = "; ".join(f"{q} from {low:g} to {high:g}" for q, (low, high) in report.scales.items())
    note = f"Mean ± SEM over ratings [95 % interval over dialogues and raters]; {scales}."
    return Table(
        title,
        ("system", *report.questions),
        tuple(rows),
        note,
        _best(_values(report, report.questions, report.systems), report.systems),
    )


def _shares(report: Report) -> Table:
    rows = [
        (group or "all", system, *(full(shares[area], 3) for area in AREAS))
        for group, systems in report.shares.items()
        for system, shares in systems.items()
    ]
    return Table("Shares", ("test set", "system", *AREAS), tuple(rows), "Wilson's 95 % intervals.", texts=2)


def _choices(report: Report) -> Table:
    rows = [
        (one.a, one.b, str(one.a_wins), str(one.b_wins), str(one.ties), str(one.both_bad))
        for one in report.choices
    ]
    return Table("Choices", ("A", "B", "A better", "B better", "tie", "both bad"), tuple(rows), texts=2)


def _ranking(report: Report) -> Table:
    rows = []
    for one in report.ranking:
        ends = "" if one.low is None or one.high is None else f" [{one.low:.2f}, {one.high:.2f}]"
        rows.append((one.system, f"{one.strength:.2f}{ends}", f"{one.wins:g} of {one.comparisons:g}"))
    note = (
        report.ranking_reason
        or "Bradley-Terry strengths are log-odds that add up to 0; ties and both-bad count half."
    )
    return Table("Ranking", ("system", "strength", "won"), tuple(rows), note)


def _agreement(report: Report) -> Table:
    rows = []
    for one in report.agreement:
        reason = one.fleiss.reason or one.alpha.reason
        rows.append(
            (
                one.question,
                _interval(one.fleiss),
                _interval(one.alpha),
                f"{one.units} of {one.of} by {one.raters}",
                reason,
            )
        )
    note = "Fleiss' κ takes the replies that as many raters judged as most; Krippendorff's α takes all."
    return Table(
        "Agreement", ("question", "Fleiss' κ", "Krippendorff's α", "judged", "note"), tuple(rows), note
    )


def _interval(one: Estimate) -> str:
    if one.value is None:
        return "–"
    return f"{one.value:.2f}" + (
        "" if one.low is None or one.high is None else f" [{one.low:.2f}, {one.high:.2f}]"
    )


def _tests(report: Report) -> Table:
    rows = []
    for test in report.tests:
        gap = test.difference
        if gap is None or test.p_holm is None:
            rows.append((test.question, test.a, test.b, test.reason, "", "", ""))
            continue
        star = "*" if test.p_holm < 0.05 else ""
        rows.append((
            test.question, test.a, test.b, f"{gap.difference:+.2f} [{gap.low:+.2f}, {gap.high:+.2f}]", _chance(gap.p),
            _chance(test.p_holm), star,
        ))  # fmt: skip
    return Table(
        "Welch's tests",
        ("question", "A", "B", "A − B", "p", "p (Holm)", ""),
        tuple(rows),
        "Over dialogues' means.",
        texts=3,
    )


def _chance(p: float) -> str:
    return "< 0.001" if p < 0.001 else f"{p:.3f}"


def _needs(report: Report) -> Table:
    what = "comparisons a pair" if report.kind == "choose" else "dialogues a system"
    rows = [
        (one.question, f"{one.effect:g}", str(one.needed), str(one.have), str(one.still))
        for one in report.needs
    ]
    note = f"In {what}, to find a difference of this size with a power of 80 % at 5 %; `effect` in the study file."
    return Table(
        "Sample size", ("question", "difference", "needed", "have", "still needed"), tuple(rows), note
    )


def _by(report: Report, parts: dict[str, Scores], name: str, question: str) -> Table:
    rows = [
        (part, *(_interval(e) if (e := scores[question].get(s)) else "–" for s in report.systems))
        for part, scores in parts.items()
    ]
    return Table(f"{question} by {name}", (name, *report.systems), tuple(rows))


def _left_out(report: Report) -> Table:
    rows = []
    for one in report.left_out:
        what = "everything" if one["batch"] is None else f"batch {one['batch'] + 1}"
        rows.append((one["rater"], what, str(one["answers"]), one["reason"]))
    return Table(
        "Left out",
        ("rater", "what", "answers", "why"),
        tuple(rows),
        "meed2's filters; --keep-all counts them.",
        texts=4,
    )


# -- the papers' -----------------------------------------------------------------------------------------------------


def _asked(report: Report, paper: str, *names: str) -> None:
    if missing := [name for name in names if name not in report.questions]:
        asked = ", ".join(report.questions)
        raise InvalidValue(
            f"{paper}'s table needs the questions {', '.join(names)}; the study asks {asked}, not {missing[0]}"
        )


def _plain(report: Report, question: str, system: str, how: str = "{:.2f}") -> str:
    one = report.scores[question].get(system)
    return "–" if one is None or one.value is None else how.format(one.value)


def rashkin2019(report: Report) -> Table:
    """Table 2: mean ± SEM. "Retrieval / Fine-tuned / ED" as a system's name fills architecture, model and candidate."""
    names = ("empathy", "relevance", "fluency")
    _asked(report, "rashkin2019", *names)
    rows = []
    for system in report.systems:
        parts = [part.strip() for part in system.split("/")]
        parts = (
            ["Gold Response", "–", "–"] if system == HUMAN else (["", *parts] if len(parts) == 1 else parts)
        )
        cells = []
        for question in names:
            one = report.scores[question].get(system)
            error = "" if one is None or one.error is None else f" ± {one.error:.2f}"
            cells.append(_plain(report, question, system) + error)
        rows.append((*(parts + ["–"] * 3)[:3], *cells))
    columns = ("", "Model", "Candidate", "Empathy", "Relevance", "Fluency")
    best = _best(_values(report, names, report.systems), report.systems, 3)
    return Table(
        "Human ratings", columns, tuple(rows), "Layout of rashkin2019, Table 2: mean ± SEM.", best, 3
    )


def naous2021(report: Report) -> Table:
    names = ("empathy", "relevance", "fluency")
    _asked(report, "naous2021", *names)
    rows = [(system, *(_plain(report, q, system) for q in names)) for system in report.systems]
    best = _best(_values(report, names, report.systems), report.systems)
    return Table(
        "Average evaluation of the human ratings",
        ("Model", "Empathy", "Relevance", "Fluency"),
        tuple(rows),
        "Layout of naous2021, Table 5.",
        best,
    )


def joint2021(report: Report) -> Table:
    names = ("fluency", "consistency", "emotion_accuracy")
    _asked(report, "joint2021", *names)
    hows = ("{:.2f}", "{:.2f}", "{:.0%}")
    rows = [
        (s, *(_plain(report, q, s, how) for q, how in zip(names, hows, strict=True))) for s in report.systems
    ]
    kappas = {one.question: _number(one.fleiss.value) for one in report.agreement}
    note = f"Layout of joint2021, Table 2. Fleiss' κ: {', '.join(f'{q} {kappas[q]}' for q in names)}."
    best = _best(_values(report, names, report.systems), report.systems)
    return Table("Human evaluation", ("Model", "Flu", "Cons", "EmoAcc"), tuple(rows), note, best)


def meed2(report: Report) -> Table:
    if not report.shares:
        raise InvalidValue(f"meed2's table needs a sort study (good, okay, bad), and this is {report.kind}")
    groups = [group for group in report.shares if group] or [""]
    systems = [
        system for system in report.systems if system != HUMAN
    ]  # the hidden replies are a check, not a system
    rows = []
    for system in systems:
        cells = [report.shares[group][system][area].value for group in groups for area in AREAS]
        rows.append(
            (system, *("–" if share is None else f"{share:.4f}".removeprefix("0") for share in cells))
        )
    columns = ("Model", *(f"{group} {area.title()}".strip() for group in groups for area in AREAS))
    shares = [[report.shares[group][s]["good"].value for s in systems] for group in groups]
    best = frozenset((r, 1 + 3 * (c - 1)) for r, c in _best(shares, systems))
    note = "Layout of meed2, Table 5: normalised across the three categories on each test set."
    return Table("Human evaluation on each test set", columns, tuple(rows), note, best)


LAYOUTS: dict[str, Callable[[Report], Table]] = {
    "rashkin2019": rashkin2019, "naous2021": naous2021, "joint2021": joint2021, "meed2": meed2,
}  # fmt: skip


def layout(report: Report, name: str) -> Table:
    if name not in LAYOUTS:
        raise UnknownName("layout", name, LAYOUTS)
    return LAYOUTS[name](report)
