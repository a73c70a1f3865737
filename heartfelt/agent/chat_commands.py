"""The commands `heartfelt chat` and `heartfelt reply`."""

import sys
from collections.abc import Callable
from contextlib import suppress
from pathlib import Path
from typing import Any

import click

from heartfelt.agent.agent import Agent, Settings
from heartfelt.agent.chat import Chat, history, is_talk, load_talk, put_aside
from heartfelt.agent.generator import Decoding
from heartfelt.dialogue import Reply
from heartfelt.errors import HeartfeltError, InvalidValue, Terminated, UnknownName
from heartfelt.labels import EMOTIONS, INTENTS, LABELS
from heartfelt.terminal import bar, console, printable

_PATH = click.Path(path_type=Path)
_SHOWN = 8  # candidates, the best


def agent_options(command: Callable[..., Any]) -> Callable[..., Any]:
    """What both commands ask about the agent."""
    for option in (
        click.option("--backend", "--model", help="Who writes the replies: a server's URL (…/v1#model), a run folder, "
                     "a .gguf adapter, or an index of replies; else the shipped model."),
        click.option("--pool", type=_PATH, help="An index of replies that join those written (heartfelt index build)."),
        click.option("--reranker", type=_PATH, help="A re-ranker's run that orders an index's replies."),
        click.option("--knowledge", type=_PATH, help="A folder of `heartfelt knowledge build`: the why has concepts."),
        click.option("--situations", type=_PATH, help="A folder of your own situations and their replies; else, "
                     "with the shipped model, Heartfelt's own."),
        click.option("--no-situations", is_flag=True, help="Write every reply, even where one is known."),
        click.option("--encoder", type=_PATH, help="Another exported encoder than the shipped one."),
        click.option("--policy", type=_PATH, help="Steer what replies do by a policy file."),
        click.option("--locale", help="Where you are, for helplines (GB, en_US, ar_EG); else $LANG says."),
        click.option("--candidates", type=click.IntRange(1, 16), default=Settings().candidates, show_default=True,
                     help="Replies to choose among; 1 streams as it writes."),
        click.option("--temperature", type=click.FloatRange(0, 2), default=Decoding().temperature, show_default=True,
                     help="How free the wording is; 0: always the likeliest."),
        click.option("--threads", type=click.IntRange(min=1), help="Threads of llama.cpp; else as many as cores."),
        click.option("--seed", type=int, help="The same seed, the same replies."),
        click.option("--no-guard", is_flag=True, help="Take the guard away: no help in a crisis, no check of replies."),
    ):  # fmt: skip
        command = option(command)
    return command


def load_agent(
    backend: str | None,
    encoder: Path | None,
    policy: Path | None,
    locale: str | None,
    candidates: int,
    temperature: float,
    seed: int | None,
    no_guard: bool,
    pool: Path | None,
    reranker: Path | None,
    knowledge: Path | None,
    situations: Path | None,
    no_situations: bool,
    **others: Any,
) -> Agent:
    from heartfelt.agent.load import load

    settings = Settings(candidates, Decoding(temperature=temperature, seed=seed))
    if no_guard:
        print("The guard is off: nobody listens for a crisis, and replies are not checked.", file=sys.stderr)
    return load(
        backend, encoder=encoder, guard=not no_guard, locale=locale, policy=policy, pool=pool, reranker=reranker,
        knowledge=knowledge, situations=situations, known=not no_situations, settings=settings, **others,
    )  # fmt: skip


@click.command()
@click.argument("message", required=False)
@click.option("--emotion", help="How the person feels, if you know: one of the 32.")
@click.option(
    "--intent", "plan", help="What the reply should do: one of the 41 labels (questioning, consoling …)."
)
@click.option("--json", "as_json", is_flag=True, help="Print the whole reply with its why as JSON.")
@agent_options
def reply(message: str | None, emotion: str | None, plan: str | None, as_json: bool, **options: Any) -> None:
    """Answer one message (or standard input) as a good listener would."""
    text = message
    if message in (None, "-") and not sys.stdin.isatty():
        text = sys.stdin.buffer.read().decode("utf-8-sig", errors="replace")
    if not text or not text.strip():
        raise InvalidValue("There is nothing to answer: give a message, or text on standard input")
    text = text.encode("utf-8", errors="replace").decode()  # a shell hands over any bytes
    answer = load_agent(**options).reply(text, emotion, plan)
    click.echo(answer.to_json() if as_json else answer.text)


@click.command()
@click.option("--resume", is_flag=True, help="Go on with the last talk.")
@click.option("--talk", type=_PATH, help="Go on with a talk that /save wrote, and keep it there.")
@click.option("--no-history", is_flag=True, help="Keep nothing of this talk.")
@agent_options
def chat(resume: bool, talk: Path | None, no_history: bool, **options: Any) -> None:
    """Talk. /why shows how the last answer came about; /help lists what else there is.

    The talk is kept for --resume, readable by you alone; the one before it stays beside it. When standard input is no
    terminal, every line of it is a message (or one of the commands that /help lists), and the replies are printed.
    """
    live = sys.stdin.isatty()
    if live:
        with suppress(ImportError):  # not everywhere
            import readline  # noqa: F401  # makes input() a line that can be edited
        sys.stdin.reconfigure(errors="replace")  # type: ignore[union-attr]
    kept = None if no_history or not (live or talk) else talk or history()
    before = load_talk(talk or history()) if resume or (talk and talk.exists()) else None
    if kept == history() and not before:
        put_aside(kept)
    session = Session(Chat(load_agent(**options), before, kept), live)
    if live:
        session.welcome()
    session.run()


class Session:
    """A talk in a terminal, or through a pipe."""

    def __init__(self, chat: Chat, live: bool) -> None:
        self.chat, self._live = chat, live
        self.emotion: str | None = None
        self.plan: str | None = None
        self._out = console()

    def welcome(self) -> None:
        self._show(
            "Heartfelt: software that listens. It is no person and no therapist. /help lists commands.", "dim"
        )
        for turn in self.chat.dialogue.turns[-6:] if self.chat.dialogue else ():
            name = "you" if turn.speaker == "speaker" else "heartfelt"
            self._show(f"{name} › {turn.text}", "dim")

    def run(self) -> None:
        while True:
            try:
                line = input("you › ") if self._live else _piped()
            except (EOFError, KeyboardInterrupt) as end:
                if isinstance(end, Terminated) or (isinstance(end, KeyboardInterrupt) and not self._live):
                    raise
                break
            if line is None:
                break
            if not line.strip():
                continue
            try:
                if not self.take(line.strip()):
                    break
            except KeyboardInterrupt as stop:
                if not self._live or isinstance(stop, Terminated):
                    raise
                self._show("\n(stopped; that message is not part of the talk)", "dim")
            except HeartfeltError as problem:
                if not self._live:
                    raise
                self._show(f"{problem}", "yellow")

    def take(self, line: str) -> bool:
        """One line: a message, or a command. False ends the talk."""
        name, _, rest = line.partition(" ")
        # Through a pipe, what only looks like a command is a message; typed, "//" begins a message with a slash.
        if not line.startswith("/") or line.startswith("//") or (name not in COMMANDS and not self._live):
            self._answer(line.removeprefix("/") if line.startswith("//") else line)
            return True
        if name not in COMMANDS:
            raise UnknownName("command", name, COMMANDS)
        return COMMANDS[name][1](self, rest.strip()) is not False

    def _answer(self, text: str) -> None:
        if self._live:
            self._out.print("heartfelt › ", style="bold", end="")
        shown = False

        def heard(piece: str) -> None:
            nonlocal shown
            self._out.print(_lines(piece), end="", soft_wrap=True)
            shown = True

        self.chat.say(text, self.emotion, self.plan, heard)
        if shown:
            self._out.print()

    def why(self, _: str) -> None:
        if self.chat.last is None:
            raise InvalidValue("There is no answer to explain yet")
        for line in explained(self.chat.last):
            self._show(line)

    def wants_plan(self, label: str) -> None:
        if label and label not in LABELS:
            raise UnknownName("intent", label, LABELS)
        self.plan = label or None
        self._show(f"(replies will be: {label})" if label else "(the planner decides again)", "dim")

    def wants_emotion(self, name: str) -> None:
        if name and name not in EMOTIONS:
            raise UnknownName("emotion", name, EMOTIONS)
        self.emotion = name or None
        self._show(f"(you feel: {name})" if name else "(the listener decides again)", "dim")

    def undo(self, _: str) -> None:
        self._show("(taken back)" if self.chat.undo() else "(there is nothing to take back)", "dim")

    def save(self, path: str) -> None:
        if not path:
            raise InvalidValue("Name a file: /save talk.jsonl")
        try:
            target = Path(path.strip("\"'")).expanduser()
        except RuntimeError:  # ~nobody
            raise InvalidValue(f"There is no such place: {path}") from None
        if not target.name or "\0" in path:
            raise InvalidValue(f"There is no such place: {printable(path)}")
        if target.is_file() and target != self.chat.kept and not is_talk(target):
            raise InvalidValue(f"{target} is there, and is no saved talk: name another file")
        self.chat.save(target)
        self._show(f"(saved in {target})", "dim")

    def quit(self, _: str) -> bool:
        return False

    def help(self, _: str) -> None:
        for name, (what, _function) in COMMANDS.items():
            self._show(f"{name:<10} {what}")

    def _show(self, text: str, style: str = "") -> None:
        self._out.print(_lines(text), style=style, soft_wrap=True)


COMMANDS: dict[str, tuple[str, Callable[[Session, str], Any]]] = {
    "/why": ("how the last answer came about: emotions, plan, candidates", Session.why),
    "/intent": (
        f"what replies should do ({', '.join(INTENTS)}, an emotion, neutral); alone: planner",
        Session.wants_plan,
    ),
    "/emotion": ("how you feel, if the listener has it wrong; alone: let it listen", Session.wants_emotion),
    "/undo": ("take back your last message and its answer", Session.undo),
    "/save": ("keep the talk in a file (.jsonl)", Session.save),
    "/help": ("this list", Session.help),
    "/quit": ("end the talk (it is kept: heartfelt chat --resume)", Session.quit),
}


def explained(reply: Reply, top: int = 5) -> list[str]:
    """The why of a reply, as lines with bars."""
    lines = []
    if reply.safety.reasons:
        lines.append(f"guard: {reply.safety.action} ({'; '.join(reply.safety.reasons)})")
    for name, chances in (("heard", reply.emotion), ("plan", reply.plan)):
        for label, chance in sorted(chances.items(), key=lambda pair: -pair[1])[:top]:
            if chance >= 0.01:
                lines.append(f"{name:<6} {label:<13} {chance:>4.0%}  {bar(chance)}")
                name = ""
    for concept in reply.concepts:
        lines.append(f"knows  {concept.keyword} {concept.relation} {concept.concept}  ({concept.score:.2f})")
    for number, candidate in enumerate(reply.candidates[:_SHOWN]):
        counts = ", ".join(f"{count} {value:.2f}" for count, value in candidate.scores.items())
        sent = "→" if candidate.text == reply.text else " "
        about = f"  [{candidate.about}]" if candidate.about else ""
        lines.append(f"{sent} {number + 1}. {candidate.text}{about}" + (f"  ({counts})" if counts else ""))
    seconds = ", ".join(f"{stage} {time:.2f} s" for stage, time in reply.timings.items())
    lines.append(f"by {reply.model}; {seconds}")
    return lines


def _piped() -> str | None:
    line = sys.stdin.buffer.readline()
    return line.decode("utf-8-sig", errors="replace") if line else None


def _lines(text: str) -> str:
    return "\n".join(printable(line) for line in text.split("\n"))
