"""Which of several replies to send: the one that fits what was said and does what was planned, not one for anybody."""

import re
from collections.abc import Callable, Mapping, Sequence
from functools import cache
from importlib import resources
from itertools import pairwise

import numpy as np
from numpy.typing import NDArray

from heartfelt.agent.listen import WINDOW, Listener
from heartfelt.dialogue import Candidate, Dialogue, Value
from heartfelt.text import words


class Weights(Value, frozen=True):
    """How much each count adds to a candidate's total."""

    fit: float = 1.0  # how much nearer the reply is to this context than to just any
    plan: float = 0.15  # log of the chance that what the reply does is what was planned
    asked: float = 0.6  # the same, where somebody asked for that plan
    likelihood: float = 0.2  # the generator's own mean log-probability a token
    like: float = 1.0  # how like the message is to those that the reply was written for
    stock: float = (
        -0.2
    )  # does it say "sorry to hear that", as published systems say to a third of all messages?
    echo: float = -0.5  # share of its word pairs that were said before in the talk
    own_life: float = (
        -0.5
    )  # does it tell of a life of its own? Software has none, and people told such in our data


def rank(
    listener: Listener,
    dialogue: Dialogue,
    plans: Mapping[str, float],
    candidates: Sequence[Candidate],
    weights: Weights | None = None,
    luck: Callable[[], float] | None = None,
) -> list[Candidate]:
    """The same candidates with their scores, the best first; of equal texts, one.

    plans: label → how wanted it is. luck: what it adds to each that was written for the same as the best one, so that
    replies that fit as well take turns.
    """
    weights = weights or Weights()
    distinct = list(
        {candidate.text: candidate for candidate in reversed(candidates) if candidate.text.strip()}.values()
    )[::-1]  # of equal ones the first, which knows its likelihood
    if not distinct:
        return []
    texts = [candidate.text for candidate in distinct]
    context = [turn.text for turn in dialogue.turns[-WINDOW:]]
    chances = listener.labels(texts)
    fits = _fit(listener, context, listener.replies(texts))
    known = [one.scores["likelihood"] for one in distinct if "likelihood" in one.scores]
    usual = {"likelihood": sum(known) / len(known)} if known else {}  # of a reply that nobody wrote just now
    scored = []
    for i, candidate in enumerate(distinct):
        scores = usual | candidate.scores | {"fit": float(fits[i]), "echo": echo(texts[i], dialogue)}
        scores["stock"] = float(bool(_STOCK.search(texts[i])))
        scores["own_life"] = float(tells_of_own_life(texts[i]))
        if plans:
            does = sum(chance * chances[i].get(label, 0.0) for label, chance in plans.items())
            scores["plan"] = float(np.log(max(does, 1e-4)))
        total = sum(
            getattr(weights, name) * scores[name] for name in weights.__struct_fields__ if name in scores
        )
        scored.append(Candidate(candidate.text, {"total": total} | scores, candidate.about))
    scored.sort(key=_total, reverse=True)
    if luck:
        about = scored[0].about
        for candidate in scored:
            if candidate.about == about:
                candidate.scores["total"] += luck()
        scored.sort(key=_total, reverse=True)
    return scored


def _total(candidate: Candidate) -> float:
    return candidate.scores["total"]


def _fit(listener: Listener, context: Sequence[str], replies: NDArray[np.float32]) -> NDArray[np.float32]:
    """Likeness to this context less the mean likeness to others: a pointwise mutual information in the encoder's terms.

    A reply for anybody ("That's great!") is as near to every other context as to this one, and gets nothing.
    """
    here = listener.vectors([context])[0]
    found: NDArray[np.float32] = replies @ (here - _anybody(listener))
    return found


@cache
def _anybody(listener: Listener) -> NDArray[np.float32]:
    """The mean of how talks begin."""
    text = resources.files("heartfelt").joinpath("assets/agent/openings.txt").read_text(encoding="utf-8")
    mean: NDArray[np.float32] = listener.vectors([[line] for line in text.splitlines()]).mean(0)
    return mean


_STOCK = re.compile("sorry to hear", re.IGNORECASE)

# "my mother", "I had a dog", "that happened to me": what is told, not what is felt or thought now.
_WHOSE = r"(?:my|our) (?:own |old |ex[- ]?|little |older |younger |best |grand)?"
_WHO = (
    r"mom|mother|dad|father|parents?|wife|husband|spouse|partner|girlfriend|boyfriend|sons?|daughters?|kids?|"
    r"child(?:ren)?|bab(?:y|ies)|brothers?|sisters?|famil(?:y|ies)|grandm\w+|grandp\w+|uncle|aunt|cousins?|friends?|dogs?|cats?|pets?|"
    r"boss|jobs?|work|house|home|car|school|college|neighbou?rs?|life|wedding|birthday"
)
_OFTEN = r"(?:(?:also|once|just|recently|always|never|still|actually|really) )?"
_DID = (
    r"had|have had|used to|was|were|went|got|lost|did|made|bought|saw|took|lived?|grew|remember|own|drove|moved|broke|"
    r"failed|won|found"
)
_OWN_LIFE = re.compile(
    rf"\b(?:{_WHOSE}(?:{_WHO})|i {_OFTEN}(?:{_DID})|i(?:'ve| have) (?:\w+ )?(?:been|had|done|lost|seen|gone|got|felt)"
    r"|(?:happen\w*|did) (?:that )?to me|me too|same here|been there|when i was)\b",
    re.IGNORECASE,
)


def tells_of_own_life(text: str) -> bool:
    return bool(_OWN_LIFE.search(text.replace("’", "'")))


def echo(text: str, dialogue: Dialogue) -> float:
    """The share of a text's word pairs that were said before in the talk, by either side."""
    said = {pair for turn in dialogue.turns for pair in _pairs(turn.text)}
    own = _pairs(text)
    return sum(pair in said for pair in own) / len(own) if own else 0.0


def _pairs(text: str) -> list[tuple[str, str]]:
    found = words(text)
    return list(pairwise(found))
