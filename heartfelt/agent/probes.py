"""Does the agent do as it should? Asked for an intent, is that what it says; and is small talk left alone?"""

from collections.abc import Callable, Sequence
from concurrent.futures import ThreadPoolExecutor

from heartfelt.agent.agent import Agent
from heartfelt.dialogue import Dialogue, Value
from heartfelt.labels import INTENTS

CARING = ("sympathizing", "consoling")  # what small talk is not answered with


class Steered(Value, frozen=True):
    """An intent: the share of replies that are read as it when it is asked for, and when nothing is."""

    intent: str
    asked: float
    unasked: float
    contexts: int


class Plain(Value, frozen=True):
    """An answer to small talk, and what it is read as."""

    prompt: str
    reply: str
    label: str

    @property
    def caring(self) -> bool:
        return self.label in CARING


def steering(
    agent: Agent,
    contexts: Sequence[Dialogue],
    step: Callable[[str], None] = lambda _: None,
    workers: int = 4,  # contexts answered at once
) -> list[Steered]:
    """Every intent asked for in every context, by the agent's own way of choosing; read by its 41-way labeller."""

    def labels(plan: str | None) -> list[str]:
        texts = []
        for reply in pool.map(lambda context: agent.reply(context, plan=plan), contexts):
            texts.append(reply.text)
            step(f"{plan or 'unasked'}: {len(texts):,} of {len(contexts):,}")
        return _labels(agent, texts)

    with ThreadPoolExecutor(workers) as pool:
        unasked = labels(None)
        asked = {intent: labels(intent) for intent in INTENTS}
    return [
        Steered(intent, said.count(intent) / len(said), unasked.count(intent) / len(unasked), len(said))
        for intent, said in asked.items()
    ]


def small_talk(agent: Agent, prompts: Sequence[Dialogue]) -> list[Plain]:
    replies = [agent.reply(prompt).text for prompt in prompts]
    labels = _labels(agent, replies)
    return [
        Plain(prompt.turns[-1].text, reply, label)
        for prompt, reply, label in zip(prompts, replies, labels, strict=True)
    ]


def _labels(agent: Agent, texts: Sequence[str]) -> list[str]:
    """What each text, by itself, does most likely."""
    return [max(row, key=lambda label: row[label]) for row in agent.listener.labels(texts)]
