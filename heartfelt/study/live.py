"""The live half of a collection: who waits, who talks with whom, who has gone. One process, one hub.

Everything that was said lies in the store; the hub knows only who is connected. Whoever comes back, also after the
server was killed, is shown the talk as it is.
"""

import asyncio
import secrets
from contextlib import suppress
from dataclasses import dataclass, field
from typing import Any

from starlette.websockets import WebSocket

from heartfelt.dialogue import LISTENER, SPEAKER, Dialogue, Turn
from heartfelt.errors import HeartfeltError
from heartfelt.study import collection as kept
from heartfelt.study.collection import AGENT, COMPLETE, LATE, LEFT, MESSAGE
from heartfelt.study.service import Answer
from heartfelt.study.store import Store
from heartfelt.text import readable

Json = dict[str, Any]
_TICK = 0.2  # seconds between looks at the clock


@dataclass
class Pair:
    id: str
    visits: tuple[str, str]  # of the first talk: who speaks, who listens
    talk: str = ""
    number: int = 1
    turns: list[tuple[str, str, str]] = field(default_factory=list)  # (visit, post, text)
    since: float = 0.0  # the last turn, or the beginning
    away: dict[str, float] = field(default_factory=dict)  # visit → since when

    @property
    def roles(self) -> tuple[str, str]:
        return self.visits if self.number == 1 else (self.visits[1], self.visits[0])

    @property
    def next(self) -> str:
        return self.roles[len(self.turns) % 2]

    @property
    def talks(self) -> int:
        return 1 if AGENT in self.visits else 2

    def other(self, visit: str) -> str:
        return self.visits[1] if visit == self.visits[0] else self.visits[0]


class Hub:
    def __init__(self, store: Store, agent: Answer | None = None) -> None:
        self._store, self._agent, self._own = store, agent, store.study.collect
        self._sockets: dict[str, WebSocket] = {}  # visit → their page
        self._raters: dict[str, str] = {}
        self._waiting: dict[str, float] = {}  # visit → since when
        self._pairs: dict[str, Pair] = {}  # visit → the pair that they are in
        self._alone: set[str] = set()  # who was told that nobody comes
        self._notes: dict[str, str] = {}  # why somebody is back in the line
        self._lock: asyncio.Lock = asyncio.Lock()
        self._tasks: set[asyncio.Task[None]] = set()

    def start(self) -> None:
        self._do(self._watch())

    async def close(self) -> None:
        for task in list(self._tasks):
            task.cancel()
        for socket in list(self._sockets.values()):
            with suppress(Exception):
                await socket.close(1012)

    def _do(self, work: Any) -> None:
        task = asyncio.ensure_future(work)
        self._tasks.add(task)
        task.add_done_callback(self._tasks.discard)

    # -- coming and going --------------------------------------------------------------------------------------------

    async def connect(self, visit: str, rater: str, socket: WebSocket) -> None:
        async with self._lock:
            old = self._sockets.get(visit)
            self._sockets[visit], self._raters[visit] = socket, rater
            if old is not None:
                with suppress(Exception):
                    await old.close(4000)  # the same person in another tab
            if visit not in self._pairs:
                await self._restore(visit)
            if pair := self._pairs.get(visit):
                pair.away.pop(visit, None)
                await self._tell(*pair.visits)
                if pair.next == AGENT:  # the server went while it was writing
                    self._do(self._agent_says(pair))
            else:
                self._waiting.setdefault(visit, self._store.clock())
                await self._match()
                await self._tell(visit)

    async def disconnect(self, visit: str, socket: WebSocket) -> None:
        async with self._lock:
            if self._sockets.get(visit) is not socket:
                return
            del self._sockets[visit]
            self._waiting.pop(visit, None)
            if pair := self._pairs.get(visit):
                pair.away[visit] = self._store.clock()
                await self._tell(pair.other(visit))

    async def _restore(self, visit: str) -> None:
        found = await asyncio.to_thread(kept.open_talk, self._store, visit)
        if found is None:
            return
        talk, said = found
        roles = (talk["speaker"], talk["listener"])
        pair = Pair(talk["pair"], roles if talk["number"] == 1 else roles[::-1], talk["id"], talk["number"])
        pair.turns = [(row["visit"], row["post"], row["text"]) for row in said]
        pair.since = self._store.clock()
        for one in roles:
            if one != AGENT:
                self._pairs[one] = pair
                pair.away[one] = self._store.clock()

    async def _match(self) -> None:
        """Pair those who wait; nobody with themselves."""
        if self._own.partner == "agent":
            for visit in list(self._waiting):
                await self._begin(visit, AGENT)
            return
        waiting = sorted(self._waiting, key=lambda one: self._waiting[one])
        while waiting:
            first = waiting.pop(0)
            other = next((one for one in waiting if self._raters[one] != self._raters[first]), None)
            if other is not None:
                waiting.remove(other)
                await self._begin(first, other)

    async def _begin(self, speaker: str, listener: str) -> None:
        pair = Pair(f"p{secrets.token_hex(8)}", (speaker, listener))
        for visit in (speaker, listener):
            self._waiting.pop(visit, None)
            self._alone.discard(visit)
            self._notes.pop(visit, None)
            if visit != AGENT:
                self._pairs[visit] = pair
        await self._talk(pair)

    async def _talk(self, pair: Pair) -> None:
        pair.talk = await asyncio.to_thread(kept.start_talk, self._store, pair.id, pair.number, *pair.roles)
        pair.turns, pair.since = [], self._store.clock()
        await self._tell(*pair.visits)

    # -- what people send --------------------------------------------------------------------------------------------

    async def hear(self, visit: str, message: Any) -> None:
        kind = message.get("type") if isinstance(message, dict) else None
        async with self._lock:
            pair = self._pairs.get(visit)
            if kind == "say" and pair:
                await self._say(pair, visit, message.get("text"), message.get("post"))
            elif kind == "end" and pair and len(pair.turns) >= self._own.least_turns:
                await self._over(pair, COMPLETE)
            elif kind == "leave":
                await self._leave(pair, visit)
            elif kind == "go" and visit in self._waiting and self._nobody(visit):
                await self._finish(visit, True)
            else:
                await self._tell(visit)

    async def _say(self, pair: Pair, visit: str, text: Any, post: Any) -> None:
        known = isinstance(text, str) and isinstance(post, str) and 0 < len(post) <= 64
        said = readable(text).strip() if known else ""
        if not 0 < len(said) <= MESSAGE or pair.next != visit or any(one[1] == post for one in pair.turns):
            await self._tell(visit)  # not their turn, nothing said, or said already: they see how it stands
            return
        await asyncio.to_thread(kept.say, self._store, pair.talk, len(pair.turns), visit, post, said)
        pair.turns.append((visit, post, said))
        pair.since = self._store.clock()
        if len(pair.turns) >= self._own.most_turns:
            await self._over(pair, COMPLETE)
            return
        await self._tell(*pair.visits)
        if pair.next == AGENT:
            self._do(self._agent_says(pair))

    async def _agent_says(self, pair: Pair) -> None:
        """The agent's turn, written outside the lock, since it may take its time."""
        talk, place = pair.talk, len(pair.turns)
        turns = tuple(Turn(LISTENER if visit == AGENT else SPEAKER, text) for visit, _, text in pair.turns)
        text = ""
        try:
            if self._agent is not None:
                text = await asyncio.to_thread(
                    self._agent, Dialogue(talk, turns, language=self._store.study.language)
                )
        except HeartfeltError:
            text = ""
        async with self._lock:
            if pair.talk != talk or len(pair.turns) != place or pair.visits[0] not in self._pairs:
                return
            if text.strip():
                await self._say(pair, AGENT, text[:MESSAGE], f"agent-{place}")
            else:
                await self._over(pair, LEFT)

    # -- endings -----------------------------------------------------------------------------------------------------

    async def _over(self, pair: Pair, outcome: str) -> None:
        await asyncio.to_thread(kept.end_talk, self._store, pair.talk, outcome)
        if outcome == COMPLETE and pair.number < pair.talks:
            pair.number += 1
            await self._talk(pair)
            return
        for visit in pair.visits:
            if visit != AGENT:
                self._pairs.pop(visit, None)
                await self._finish(visit, True)

    async def _leave(self, pair: Pair | None, visit: str, outcome: str = LEFT) -> None:
        """Somebody goes, or is too late; the other one gets the next partner, or is done if their story was told."""
        if pair is None:
            if visit in self._sockets:
                await self._finish(visit, False)
            return
        whole = len(pair.turns) >= self._own.least_turns
        await asyncio.to_thread(kept.end_talk, self._store, pair.talk, COMPLETE if whole else outcome)
        other = pair.other(visit)
        for one in pair.visits:
            self._pairs.pop(one, None)
        await self._finish(visit, await asyncio.to_thread(kept.has_told, self._store, visit))
        if other == AGENT:
            return
        if await asyncio.to_thread(kept.has_told, self._store, other):
            await self._finish(other, True)
        else:
            self._notes[other] = outcome
            if other in self._sockets:
                self._waiting[other] = self._store.clock()
                await self._match()
                await self._tell(other)

    async def _finish(self, visit: str, paid: bool) -> None:
        self._waiting.pop(visit, None)
        await asyncio.to_thread(kept.end_visit, self._store, visit, paid)
        await self._send(visit, {"stage": "over"})

    async def _watch(self) -> None:
        while True:
            await asyncio.sleep(_TICK)
            with suppress(HeartfeltError):  # a database that is away for a moment: at the next look
                async with self._lock:
                    await self._look()

    async def _look(self) -> None:
        now, own = self._store.clock(), self._own
        for pair in {id(pair): pair for pair in self._pairs.values()}.values():
            gone = [visit for visit, since in pair.away.items() if now - since > own.away_seconds]
            if gone:
                await self._leave(pair, gone[0])
                if len(gone) > 1:
                    await self._finish(gone[1], False)
            elif now - pair.since > 60 * own.turn_minutes and pair.next != AGENT:
                await self._leave(pair, pair.next, LATE)
        for visit, since in list(self._waiting.items()):
            if now - since > own.wait_seconds:
                if own.partner == "either":
                    await self._begin(visit, AGENT)
                elif visit not in self._alone:
                    self._alone.add(visit)
                    await self._tell(visit)

    def _nobody(self, visit: str) -> bool:
        return self._store.clock() - self._waiting[visit] > self._own.wait_seconds

    # -- what pages show ---------------------------------------------------------------------------------------------

    async def _tell(self, *visits: str) -> None:
        for visit in visits:
            if visit in self._sockets:
                await self._send(visit, await self._shown(visit))

    async def _send(self, visit: str, message: Json) -> None:
        if socket := self._sockets.get(visit):
            with suppress(Exception):  # whoever has gone is noticed by their own reader
                await socket.send_json(message)

    async def _shown(self, visit: str) -> Json:
        """How it stands for one person: of the other one, only what they said."""
        pair = self._pairs.get(visit)
        if pair is None:
            nobody = visit in self._waiting and self._nobody(visit)
            return {"stage": "waiting", "nobody": nobody, "note": self._notes.get(visit)}
        speaks = pair.roles[0] == visit
        now: Json = {
            "stage": "talk", "number": pair.number, "of": pair.talks, "role": SPEAKER if speaks else LISTENER,
            "turns": [
                {"mine": who == visit, "text": text, "post": post if who == visit else ""}
                for who, post, text in pair.turns
            ],
            "turn": pair.next == visit, "may_end": len(pair.turns) >= self._own.least_turns,
            "away": pair.other(visit) in pair.away,
        }  # fmt: skip
        if speaks:
            row = await asyncio.to_thread(kept.visit_row, self._store, visit)
            now |= {"emotion": row["emotion"], "situation": row["situation"]}
        return now
