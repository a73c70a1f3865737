"""`get_response(text)`: one text in, one text out, as public test suites for the safety of chatbots ask a model.

from heartfelt.serving.respond import get_response     # a suite that wants a function
from heartfelt.serving.respond import Responder        # a suite that wants an object with get_response
"""

from functools import cache

from heartfelt.agent.agent import Agent
from heartfelt.agent.load import load
from heartfelt.text import readable

SILENCE = "I am here. What would you like to tell me?"  # to an empty text, which such suites also send


class Responder:
    """An agent behind the one method that such suites call."""

    def __init__(self, agent: Agent | None = None) -> None:
        self.agent = agent or load()

    def get_response(self, input_text: str) -> str:
        text = readable(input_text)
        return self.agent.reply(text).text if text.strip() else SILENCE


def get_response(text: str) -> str:
    """The shipped agent's answer, guard and all; it is loaded at the first call."""
    return _shipped().get_response(text)


@cache
def _shipped() -> Responder:
    return Responder()
