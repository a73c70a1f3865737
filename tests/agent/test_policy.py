"""A policy steers the plan, and says all that is wrong with it."""

from pathlib import Path

import pytest

from heartfelt.agent.policy import SHIPPED, BadPolicy, Policy, load
from heartfelt.errors import MissingData
from heartfelt.labels import LABELS

PLAN = {"suggesting": 0.5, "questioning": 0.3, "sympathizing": 0.2}


def policy(tmp_path: Path, text: str) -> Policy:
    path = tmp_path / "policy.yaml"
    path.write_text(text)
    return load(path)


def test_rules_hold_by_reply_and_by_emotion(tmp_path: Path) -> None:
    found = policy(
        tmp_path,
        """
        rules:
          - {because: listen first, when: {to_reply: 2}, forbid: [suggesting]}
          - {when: {emotions: [sadness]}, prefer: {sympathizing: 3}}
          - {when: {from_reply: 3, emotions: [joyful]}, forbid: [questioning, sympathizing]}
        """,
    )
    assert found.steer(PLAN, 1) == pytest.approx({"suggesting": 0, "questioning": 0.6, "sympathizing": 0.4})
    assert found.steer(PLAN, 3) == pytest.approx(PLAN)
    sad = found.steer(PLAN, 3, {"lonely": 0.6, "joyful": 0.4})  # lonely is of the group sadness
    assert sad == pytest.approx(
        {"suggesting": 0.5 / 1.4, "questioning": 0.3 / 1.4, "sympathizing": 0.6 / 1.4}
    )
    assert found.steer(PLAN, 9, {"joyful": 0.9})["suggesting"] == 1
    assert Policy().steer(PLAN) == pytest.approx(PLAN)


def test_what_is_forbidden_stays_so_when_the_planner_wants_nothing_else(tmp_path: Path) -> None:
    found = policy(tmp_path, "rules: [{forbid: [suggesting]}]")
    assert found.steer({"suggesting": 1.0, "wishing": 0.0, "agreeing": 0.0}) == {
        "suggesting": 0, "wishing": 0.5, "agreeing": 0.5,
    }  # fmt: skip


def test_all_problems_at_once(tmp_path: Path) -> None:
    with pytest.raises(BadPolicy) as problem:
        policy(
            tmp_path,
            """
            rules:
              - {forbid: [suggestion], when: {emotions: [sadnes], from_reply: 3, to_reply: 2}}
              - {prefer: {wishing: -1}, becuase: x}
              - forbid
            """,
        )
    for part in (
        "no suggestion, did you mean suggesting", "no sadnes, did you mean sadness", "to_reply lies before",
        "no rule 2: becuase", "rule 3 is not a mapping",
    ):  # fmt: skip
        assert part in str(problem.value)
    with pytest.raises(BadPolicy, match="every label is forbidden"):
        policy(tmp_path, f"rules: [{{forbid: [{', '.join(LABELS)}]}}]")
    with pytest.raises(BadPolicy, match="every label is forbidden"):  # "0 times as likely" forbids too
        policy(tmp_path, f"rules: [{{forbid: [{', '.join(LABELS[1:])}]}}, {{prefer: {{{LABELS[0]}: 0}}}}]")
    for number in (".inf", ".nan", "-1"):
        with pytest.raises(BadPolicy, match=r"prefer\.wishing is a number, 0 or above"):
            policy(tmp_path, f"rules: [{{prefer: {{wishing: {number}}}}}]")
    with pytest.raises(BadPolicy, match="one list, rules"):
        policy(tmp_path, "rule: []")
    with pytest.raises(BadPolicy, match="not YAML"):
        policy(tmp_path, "rules: [")
    with pytest.raises(MissingData, match="cannot be read"):
        load(tmp_path / "none.yaml")


def test_the_shipped_policy_says_what_it_heard_before_it_asks() -> None:
    plan = {"questioning": 0.5, "acknowledging": 0.5}
    assert SHIPPED.steer(plan, 1) == pytest.approx({"questioning": 1 / 3, "acknowledging": 2 / 3})
    assert SHIPPED.steer(plan, 2) == pytest.approx(plan)
