"""What `POST /v1/chat/completions` takes and gives: OpenAI's fields, and ours under the one key "heartfelt"."""

from typing import Any

from pydantic import BaseModel, Field

from heartfelt.agent.generator import Decoding
from heartfelt.dialogue import Reply
from heartfelt.errors import InvalidValue
from heartfelt.serving.messages import Json, Message, dialogue_of, rounded, top
from heartfelt.serving.service import MODEL, Asked

_LONGEST = 256  # tokens of a reply
# OpenAI's fields that ask for what no listener does: refused, for a client would wait for what never comes.
_CANNOT = ("tools", "functions", "logprobs", "top_logprobs", "audio", "logit_bias")


class Steer(BaseModel):
    """Ours: what to hear, what to do, how much to tell. Sent with `extra_body={"heartfelt": {…}}`."""

    intent: str | None = Field(None, description="What the reply should do: one of the 41 labels.")
    emotion: str | None = Field(None, description="How the person feels, where you know: one of the 32.")
    why: bool = Field(False, description="Tell the whole why: all chances, candidates with scores, timings.")
    candidates: int | None = Field(
        None, ge=1, le=16, description="Replies to choose among; 1 where it is streamed."
    )
    session: str | None = Field(None, max_length=64, description="Go on with a stored conversation.")

    model_config = {"extra": "forbid"}


class StreamOptions(BaseModel):
    include_usage: bool = False


class Completion(BaseModel):
    model: str = MODEL
    messages: list[Message] = Field(min_length=1, max_length=500)
    n: int = Field(1, ge=1, le=8)
    stop: str | list[str] | None = Field(None, description="At most four texts before which a reply ends.")
    stream: bool = False
    stream_options: StreamOptions | None = None
    temperature: float = Field(Decoding().temperature, ge=0, le=2)
    top_p: float = Field(Decoding().top_p, gt=0, le=1)
    seed: int | None = None
    max_tokens: int | None = Field(None, ge=1)
    max_completion_tokens: int | None = Field(None, ge=1)
    response_format: dict[str, Any] | None = None
    heartfelt: Steer = Steer.model_validate({})

    model_config = {
        "extra": "allow",  # clients send more than they need
        "json_schema_extra": {
            "examples": [
                {
                    "model": MODEL,
                    "messages": [{"role": "user", "content": "My dog died last night."}],
                    "heartfelt": {"intent": "consoling", "why": True},
                }
            ]
        },
    }

    def asked(self, usual_candidates: int) -> list[Asked]:
        """The replies that are wanted, one a choice."""
        self._check()
        steer = self.heartfelt
        dialogue = dialogue_of(self.messages)
        longest = self.max_completion_tokens or self.max_tokens or Decoding().max_tokens
        candidates = steer.candidates or (1 if self.stream else usual_candidates)
        made = []
        for choice in range(self.n):
            decoding = Decoding(
                temperature=self.temperature, top_p=self.top_p, max_tokens=min(longest, _LONGEST),
                seed=None if self.seed is None else (self.seed + 10_007 * choice) % 2**31,
            )  # fmt: skip
            made.append(Asked(dialogue, decoding, candidates, steer.emotion, steer.intent, steer.session))
        return made

    def stops(self) -> list[str]:
        return [self.stop] if isinstance(self.stop, str) else self.stop or []

    def _check(self) -> None:
        extra = self.model_extra or {}
        if asked := [name for name in _CANNOT if extra.get(name)]:
            raise InvalidValue(f"Heartfelt answers in plain words; it has no {', '.join(asked)}")
        if self.response_format and self.response_format.get("type") != "text":
            raise InvalidValue("Heartfelt answers in plain words; it has no response_format but text")
        if len(self.stops()) > 4 or any(not stop for stop in self.stops()):
            raise InvalidValue("stop is one to four texts, none of them empty")
        if self.heartfelt.session and self.n > 1:
            raise InvalidValue("A stored conversation goes on with one reply: n is 1")


def told(reply: Reply, why: bool) -> Json:
    """The vendor key of a choice: a summary; or the whole why."""
    short: Json = {
        "emotion": top(reply.emotion),
        "plan": top(reply.plan),
        "safety": {"action": reply.safety.action, "reasons": list(reply.safety.reasons)},
        "model": reply.model,
    }
    if not why:
        return short
    return short | {
        "emotions": rounded(reply.emotion),
        "plans": rounded(reply.plan),
        "concepts": [concept.to_dict() for concept in reply.concepts],
        "candidates": [
            {"text": one.text, "scores": one.scores, "about": one.about} for one in reply.candidates
        ],
        "timings": {stage: round(seconds, 4) for stage, seconds in reply.timings.items()},
    }


class Until:
    """Text as it grows, up to the first stop; what may be the beginning of a stop waits."""

    def __init__(self, stops: list[str]) -> None:
        self._stops = stops
        self._held = ""
        self.ended = False

    def take(self, piece: str) -> str:
        if self.ended:
            return ""
        text = self._held + piece
        found = [place for stop in self._stops if (place := text.find(stop)) >= 0]
        if found:
            self.ended = True
            return text[: min(found)]
        keep = max((_overlap(text, stop) for stop in self._stops), default=0)
        self._held = text[len(text) - keep :]
        return text[: len(text) - keep]

    def rest(self) -> str:
        return "" if self.ended else self._held


def _overlap(text: str, stop: str) -> int:
    """How many characters at the end of a text are the beginning of a stop."""
    return next(
        (size for size in range(min(len(stop) - 1, len(text)), 0, -1) if text.endswith(stop[:size])), 0
    )
