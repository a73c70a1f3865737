"""The agent: guard → recognise → plan → respond → guard; and know, beside, for who asks why.

It knows only the seams; what fills them is for others to say.

>>> import heartfelt
>>> agent = heartfelt.load()                                   # doctest: +SKIP
>>> reply = agent.reply("I finally got promoted!")             # doctest: +SKIP
>>> reply.text, reply.why                                      # doctest: +SKIP
"""

from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from contextvars import copy_context
from random import Random
from time import perf_counter

import msgspec

from heartfelt.agent.generator import Decoding, Generator, Wish
from heartfelt.agent.guard import Guard
from heartfelt.agent.listen import Heard, Listener, as_dialogue, shipped
from heartfelt.agent.moods import Moods
from heartfelt.agent.policy import SHIPPED, Policy
from heartfelt.agent.rank import Weights, rank
from heartfelt.agent.situations import Known
from heartfelt.dialogue import Candidate, Concept, Dialogue, Reply, Verdict
from heartfelt.errors import UnknownName
from heartfelt.labels import EMOTIONS, LABELS
from heartfelt.text import sentences

ONLY_ENGLISH = {
    "en": "I am sorry, I only speak English so far. Could you write to me in English?",
    "ar": "أعتذر، لا أتحدث حتى الآن إلا الإنجليزية. هل يمكنك أن تكتب لي بالإنجليزية؟",
}


EMPTY = Verdict("replace", ("reply: empty",))
GUARD = "guard"  # who wrote what nobody else may say
Know = Callable[[Dialogue], tuple[Concept, ...]]
_TOKENS_A_WORD = 2.0  # or fewer, with punctuation, in nearly all replies
_LUCK = 0.3  # what luck adds to a found reply's total, times temperature
_AS_GOOD = 0.5  # a plan of at least this share of the likeliest one's chance is tried too


class Settings(msgspec.Struct, frozen=True):
    candidates: int = 4  # replies to choose among; with one, it is streamed as it grows
    decoding: Decoding = Decoding()
    weights: Weights = Weights()
    plans: int = 1  # of the likeliest plans, those that replies are written for
    retrieved: int = 4  # replies of a pool that join them


class Agent:
    def __init__(
        self,
        generator: Generator,
        listener: Listener | None = None,
        guard: Guard | None = None,
        policy: Policy | None = None,
        settings: Settings | None = None,
        pool: Generator | None = None,  # whose replies join the generator's
        know: Know | None = None,  # what a dialogue brings to mind
        known: Known | None = None,  # situations whose replies are there already
        moods: Moods | None = None,  # and moods, where the situation is not known
    ) -> None:
        self.generator, self.pool, self.know, self.known, self.moods = generator, pool, know, known, moods
        self.listener = listener or shipped()
        self.guard = guard or Guard(ear=self.listener.needs_help)
        self.policy = policy or SHIPPED
        self.settings = settings or Settings()

    @property
    def name(self) -> str:
        """Of all who may answer."""
        known = f"{self.known.name} ({len(self.known):,}), " if self.known else ""
        return known + self.generator.name

    def with_settings(self, settings: Settings) -> "Agent":
        """The same parts, told otherwise."""
        return Agent(
            self.generator, self.listener, self.guard, self.policy, settings,
            self.pool, self.know, self.known, self.moods,
        )  # fmt: skip

    def reply(
        self,
        what: str | Dialogue,
        emotion: str | None = None,
        plan: str | None = None,
        heard: Callable[[str], None] | None = None,
    ) -> Reply:
        """Answer a message, or the last turn of a dialogue.

        emotion, plan: what you know or want; the agent decides where they are not given.
        heard: is handed the text as it comes, in pieces that the guard has let pass.
        """
        _known(emotion, plan)
        clock = Clock()
        dialogue = as_dialogue(what)
        with clock("guard"):
            verdict = self.guard.hear(dialogue)
        if verdict.action != "pass" or dialogue.language not in self.generator.languages:
            foreign = verdict.action == "pass"
            text = (
                ONLY_ENGLISH.get(dialogue.language, ONLY_ENGLISH["en"])
                if foreign
                else self.guard.answer(dialogue, verdict)
            )
            if heard:
                heard(text)
            return Reply(text, safety=verdict, model="none" if foreign else GUARD, timings=clock.times)
        with clock("recognise"):
            (felt,) = self.listener([dialogue])
        emotions = {emotion: 1.0} if emotion else felt.emotion
        plans = {plan: 1.0} if plan else self.plan(dialogue, felt, emotions)
        wishes = self._wishes(emotion or felt.feeling, plans)
        # What a corpus or an earlier reply says of the emotion is not what was heard.
        known = msgspec.structs.replace(dialogue, emotion=wishes[0].emotion)
        weights = self.settings.weights
        if plan:
            weights = msgspec.structs.replace(weights, plan=weights.asked)
        draw = self._draw(dialogue)
        found = []
        if self.known and dialogue.language in self.known.languages:
            with clock("find"):
                found = self._found(self.known, known, plans, emotion, felt)
        others = []
        if self.moods and not found and not self.pool and dialogue.language in self.moods.languages:
            feels = self.known.feels(known.turns, felt) if self.known else felt
            others = self._fit(self.moods.say(known, feels, plans, draw, emotion))
            if not plan:  # where somebody asks for one, what is written joins them
                found = others
        reply = self._respond(
            known, wishes, emotions, plans, weights, verdict, clock, heard, found, others, draw
        )
        if not self.know:
            return reply
        with clock("know"):
            return msgspec.structs.replace(reply, concepts=self.know(dialogue))

    def plan(
        self, dialogue: Dialogue, felt: Heard, emotions: dict[str, float] | None = None
    ) -> dict[str, float]:
        """What the reply should do: the listener's plan, and the policy's say."""
        planned = self.listener.plan(felt)
        if not felt.plan:
            return planned
        number = 1 + sum(turn.speaker != dialogue.speaker for turn in dialogue.turns)
        return self.policy.steer(planned, number, emotions or felt.emotion)

    def _wishes(self, emotion: str | None, plans: dict[str, float]) -> list[Wish]:
        """The likeliest plan first; and those that are about as likely, for the ranker to choose among."""
        likely = sorted(plans, key=lambda label: -plans[label])[
            : min(self.settings.plans, self.settings.candidates)
        ]
        return [Wish(emotion, label) for label in likely if plans[label] >= _AS_GOOD * plans[likely[0]]] or [
            Wish(emotion)
        ]

    def _written(self, dialogue: Dialogue, wishes: list[Wish]) -> list[Candidate]:
        """All candidates, shared out among the wishes; asked for at once, so that an engine can batch them."""
        each, more = divmod(self.settings.candidates, len(wishes))
        decoding = self.settings.decoding

        def say(place: int) -> list[Candidate]:
            count = each + (place < more)
            seed = None if decoding.seed is None else decoding.seed + 1000 * place
            return self.generator.say(
                dialogue, wishes[place], count, msgspec.structs.replace(decoding, seed=seed)
            )

        if len(wishes) == 1:
            return say(0)
        with ThreadPoolExecutor(
            len(wishes)
        ) as pool:  # in this context: who waits for the reply waits for all parts
            parts = [pool.submit(copy_context().run, say, place) for place in range(len(wishes))]
            return [candidate for part in parts for candidate in part.result()]

    def _respond(
        self,
        dialogue: Dialogue,
        wishes: list[Wish],
        emotions: dict[str, float],
        plans: dict[str, float],
        weights: Weights,
        verdict: Verdict,
        clock: "Clock",
        heard: Callable[[str], None] | None,
        found: list[Candidate],
        others: list[Candidate],
        draw: Random,
    ) -> Reply:
        """found: replies that are there already; where there are none, they are written, and others join them."""
        ranked: list[Candidate]
        sent: Candidate | None
        if not found and self.settings.candidates == 1 and heard and not self.pool:
            with clock("respond"):
                text, refused = self._streamed(dialogue, wishes[0], heard)
            sent = Candidate(text) if text else None
            ranked = [sent] if sent else []
        else:
            luck = self._luck(draw) if found else None
            if not found:
                with clock("respond"):
                    found = self._made(dialogue, wishes) + others
            with clock("rank"):
                ranked = rank(self.listener, dialogue, plans, found, weights, luck)
            with clock("guard"):
                sent, refused = self._fit_to_send(ranked)
            if heard and sent:
                heard(sent.text)
        text, author = (
            (sent.text, self._author(sent)) if sent else (self.guard.answer(dialogue, refused), GUARD)
        )
        if heard and not sent:
            heard(text)
        if refused.action != "pass":
            verdict = Verdict(refused.action, (*verdict.reasons, *refused.reasons))
        return Reply(
            text, emotions, plans, candidates=tuple(ranked), safety=verdict, model=author, timings=clock.times
        )

    def _made(self, dialogue: Dialogue, wishes: list[Wish]) -> list[Candidate]:
        """Replies written for this talk, and those of a pool."""
        made = self._written(dialogue, wishes)
        if self.pool and dialogue.language in self.pool.languages:
            made += self.pool.say(dialogue, wishes[0], self.settings.retrieved, self.settings.decoding)
        return made

    def _found(
        self, known: Known, dialogue: Dialogue, plans: dict[str, float], emotion: str | None, felt: Heard
    ) -> list[Candidate]:
        """Replies to a situation that is known."""
        turns = dialogue.turns[-1:]
        last = (
            self.listener([msgspec.structs.replace(dialogue, turns=turns)])[0]
            if turns != dialogue.turns
            else felt
        )
        return self._fit(known.say(dialogue, plans, emotion, None if emotion else felt, last))

    def _fit(self, found: list[Candidate]) -> list[Candidate]:
        """Those that are as long as a written reply may be, and that the guard lets pass."""
        longest = self.settings.decoding.max_tokens / _TOKENS_A_WORD
        return [
            one
            for one in found
            if len(one.text.split()) <= longest and self.guard.check(one.text).action == "pass"
        ]

    def _draw(self, dialogue: Dialogue) -> Random:
        """A written reply is another one each time; one that is there already should be, too.

        With a seed it is the same for the same words, and another for others.
        """
        seed = self.settings.decoding.seed
        return Random(None if seed is None else f"{seed} {dialogue.turns[-1].text}")

    def _luck(self, draw: Random) -> Callable[[], float]:
        return lambda: _LUCK * self.settings.decoding.temperature * draw.gauss(0.0, 1.0)

    def _author(self, sent: Candidate) -> str:
        if self.known and "like" in sent.scores:
            return self.known.name
        if self.moods and "mood" in sent.scores:
            return self.moods.name
        return self.pool.name if self.pool and "match" in sent.scores else self.generator.name

    def _fit_to_send(self, ranked: list[Candidate]) -> tuple[Candidate | None, Verdict]:
        """The best reply that the guard lets pass; or none, and why."""
        refused = EMPTY
        for candidate in ranked:
            judged = self.guard.check(candidate.text)
            if judged.action == "pass":
                return candidate, judged
            refused = judged
        return None, refused

    def _streamed(self, dialogue: Dialogue, wish: Wish, heard: Callable[[str], None]) -> tuple[str, Verdict]:
        """One reply, handed on sentence by sentence; it ends before a sentence that the guard keeps back."""
        given, grown, refused = 0, "", Verdict()

        def hand_on(upto: int) -> None:
            nonlocal given, refused
            if refused.action == "pass" and upto > given:
                refused = self.guard.check(grown[:upto])
                if refused.action == "pass":
                    heard(grown[given:upto])
                    given = upto

        def take(piece: str) -> None:
            nonlocal grown
            grown = (grown + piece).lstrip()
            parts = sentences(grown)
            if len(parts) > 1:
                hand_on(len(grown.rstrip()) - len(parts[-1]))

        self.generator.stream(dialogue, wish, take, self.settings.decoding)
        hand_on(len(grown.rstrip()))
        text = grown[:given].strip()
        return text, refused if text or refused.action != "pass" else EMPTY


class Clock:
    """Seconds by stage."""

    def __init__(self) -> None:
        self.times: dict[str, float] = {}

    @contextmanager
    def __call__(self, stage: str) -> Iterator[None]:
        start = perf_counter()
        yield
        self.times[stage] = self.times.get(stage, 0.0) + perf_counter() - start


def _known(emotion: str | None, plan: str | None) -> None:
    if emotion is not None and emotion not in EMOTIONS:
        raise UnknownName("emotion", emotion, EMOTIONS)
    if plan is not None and plan not in LABELS:
        raise UnknownName("plan", plan, LABELS)
