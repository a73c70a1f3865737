"""What a reply may do: a small file that forbids or prefers labels, by how far the talk is and how the person feels.

    rules:
      - because: listen before you advise
        when: {to_reply: 2}                      # the first and the second reply
        forbid: [suggesting]
      - when: {emotions: [sadness, afraid]}      # emotions, or groups of them
        prefer: {sympathizing: 2, agreeing: 0.5} # times as likely as the planner says

A rule without `when` always holds; of several that hold, all count.
"""

import math
from collections.abc import Mapping
from dataclasses import dataclass, field
from difflib import get_close_matches
from pathlib import Path

import yaml

from heartfelt.errors import HeartfeltError, MissingData
from heartfelt.labels import EMOTIONS, GROUPS, LABELS
from heartfelt.recipe import fill


class BadPolicy(HeartfeltError):
    """A policy with problems: all of them, in one line."""


@dataclass(frozen=True)
class When:
    """All that is given must hold."""

    from_reply: int = 1  # the first answer is number 1
    to_reply: int | None = None
    emotions: tuple[str, ...] = ()  # the likeliest emotion is one of these, or in one of these groups

    def holds(self, reply: int, emotion: str | None) -> bool:
        if reply < self.from_reply or (self.to_reply is not None and reply > self.to_reply):
            return False
        meant = {e for name in self.emotions for e in GROUPS.get(name, (name,))}
        return not meant or emotion in meant


@dataclass(frozen=True)
class Rule:
    when: When = field(default_factory=When)
    forbid: tuple[str, ...] = ()
    prefer: Mapping[str, float] = field(default_factory=dict)
    because: str = ""

    def forbids(self, label: str) -> bool:
        return label in self.forbid or self.prefer.get(label) == 0


@dataclass(frozen=True)
class Policy:
    rules: tuple[Rule, ...] = ()

    def steer(
        self, plan: Mapping[str, float], reply: int = 1, emotion: Mapping[str, float] | None = None
    ) -> dict[str, float]:
        """The plan's chances under the rules that hold; they add up to one again."""
        likeliest = max(emotion, key=lambda name: emotion[name]) if emotion else None
        steered = dict(plan)
        for rule in self.rules:
            if rule.when.holds(reply, likeliest):
                steered.update(dict.fromkeys(rule.forbid, 0.0))
                for label, times in rule.prefer.items():
                    steered[label] = steered.get(label, 0.0) * times
        total = sum(steered.values())
        if total == 0:  # the planner was sure of what is forbidden: any label that is allowed will do
            allowed = [label for label in plan if not self._forbids(label, reply, likeliest)]
            return {label: (label in allowed) / len(allowed) for label in plan}
        return {label: chance / total for label, chance in steered.items()}

    def _forbids(self, label: str, reply: int, emotion: str | None) -> bool:
        rules = [rule for rule in self.rules if rule.when.holds(reply, emotion)]
        return any(rule.forbids(label) for rule in rules)


# Planners learn from people who asked a stranger at once. Read side by side, our small model's first replies are better
# where they take up what was told.
SHIPPED = Policy(
    (Rule(When(to_reply=1), prefer={"questioning": 0.5}, because="say what was heard before asking"),)
)


def load(path: Path | str) -> Policy:
    try:
        values = yaml.safe_load(Path(path).read_text(encoding="utf-8"))
    except OSError as problem:
        raise MissingData(f"The policy {path} cannot be read: {problem.strerror}") from None
    except (yaml.YAMLError, UnicodeDecodeError, RecursionError) as problem:
        raise BadPolicy(f"{path} is not YAML: {' '.join(str(problem).split())}") from None
    if not isinstance(values, dict) or set(values) != {"rules"} or not isinstance(values["rules"], list):
        raise BadPolicy(f"{path} should be a mapping with one list, rules")
    rules, problems = [], []
    for number, value in enumerate(values["rules"], 1):
        if not isinstance(value, dict):
            problems.append(f"rule {number} is not a mapping")
            continue
        rule, wrong = fill(Rule, value, f"rule {number}: ")
        problems += wrong
        if rule:
            rules.append(rule)
            problems += [f"rule {number}: {problem}" for problem in _wrong_in(rule)]
    policy = Policy(tuple(rules))
    if not problems and all(any(rule.forbids(label) for rule in rules) for label in LABELS):
        problems.append("every label is forbidden somewhere; leave one that no rule forbids")
    if problems:
        raise BadPolicy(f"{path}: {'; '.join(problems)}")
    return policy


def _wrong_in(rule: Rule) -> list[str]:
    found = []
    for where, names, known in (
        ("forbid", rule.forbid, LABELS), ("prefer", rule.prefer, LABELS),
        ("when.emotions", rule.when.emotions, (*EMOTIONS, *GROUPS)),
    ):  # fmt: skip
        for name in names:
            if name not in known:
                near = get_close_matches(name, known, 1)
                hint = f", did you mean {near[0]}?" if near else f"; there is {', '.join(known)}"
                found.append(f"{where}: there is no {name}{hint}")
    for label, times in rule.prefer.items():
        if not 0 <= times < math.inf:
            found.append(f"prefer.{label} is a number, 0 or above, not {times}")
    if rule.when.to_reply is not None and rule.when.to_reply < rule.when.from_reply:
        found.append("when: to_reply lies before from_reply")
    return found
