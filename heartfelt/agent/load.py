"""An agent, ready to talk: the shipped one, or parts of your own choice."""

import sys
from pathlib import Path
from typing import TYPE_CHECKING

from heartfelt.agent.agent import Agent, Settings
from heartfelt.agent.generator import Generator
from heartfelt.agent.guard import Guard
from heartfelt.agent.listen import SHIPPED, Listener, shipped
from heartfelt.agent.moods import Moods
from heartfelt.agent.policy import load as load_policy
from heartfelt.agent.situations import Known
from heartfelt.errors import InvalidValue, MissingData
from heartfelt.models import weights

if TYPE_CHECKING:
    from heartfelt.agent.llama import LlamaCpp

BASE = "smollm2"
SLOTS = 4
ADAPTER = SHIPPED / "heartfelt-en" / "heartfelt-en.gguf"


def load(
    backend: str | Path | None = None,
    *,
    encoder: Path | None = None,
    guard: bool = True,
    locale: str | None = None,
    policy: Path | None = None,
    pool: Path | None = None,
    reranker: Path | None = None,
    knowledge: Path | None = None,
    situations: Path | None = None,
    known: bool = True,
    settings: Settings | None = None,
    slots: int = SLOTS,
    threads: int | None = None,
    ahead: bool = False,
) -> Agent:
    """backend: None for the shipped model; the address of an OpenAI-compatible server; a run folder; an adapter (.gguf)
    over the base weights; or an index of replies (heartfelt index build). pool: an index whose replies join what the
    backend writes. reranker: a run that puts an index's replies in order. knowledge: a folder of
    `heartfelt knowledge build`, whose concepts every reply then names. situations: a folder of your own, whose replies
    are sent where a message is of their kind; with the shipped model Heartfelt's own are, and elsewhere replies by
    mood, unless known is False. slots: replies that llama.cpp writes side by side; threads: that it does so on; ahead:
    it is loaded now, also where most replies need not be written, rather than with the first one that must. guard:
    False takes the guard away, and every reply says so."""
    listener = Listener(encoder) if encoder else shipped()
    if guard and listener.crisis_threshold is None:
        print(
            "This encoder has not learned to hear a crisis: the guard goes by its patterns alone.",
            file=sys.stderr,
        )
    joining = None
    if reranker and not pool and not (backend and Path(backend).is_dir()):
        raise InvalidValue("--reranker puts an index's replies in order: --backend INDEX or --pool INDEX")
    if pool:
        from heartfelt.agent.retriever import retriever

        joining = retriever(pool, listener, reranker)
    know = None
    if knowledge:
        from heartfelt.agent.know import knower

        know = knower(knowledge)
    found = _known(situations) if known and (situations or backend is None) else None
    return Agent(
        generator(backend, listener, reranker, slots, threads, ahead or not found),
        listener,
        Guard(locale, listener.needs_help) if guard else Guard.off(),
        load_policy(policy) if policy else None,
        settings,
        joining,
        know,
        found,
        Moods() if known and backend is None else None,
    )


def _known(folder: Path | None) -> Known:
    known = Known(shipped(), folder) if folder else Known(shipped())
    known.prepare()
    return known


def generator(
    backend: str | Path | None,
    listener: Listener | None = None,
    reranker: Path | None = None,
    slots: int = SLOTS,
    threads: int | None = None,
    ahead: bool = True,
) -> Generator:
    if backend is None and not ADAPTER.is_file():
        raise MissingData(
            "This Heartfelt comes without heartfelt-en: fetch the repository whole, or --backend URL"
        )
    name = str(backend or ADAPTER)
    if name.startswith(("http://", "https://")):
        from heartfelt.agent.openai_server import OpenAIServer

        return OpenAIServer(name)
    if name.endswith(".gguf"):
        writer = _llama(Path(name), slots, threads)
        if ahead:
            writer.prepare()
        return writer
    if not Path(name).exists():
        raise MissingData(
            f"There is nothing at {name}: --backend takes a run folder, an index, a .gguf adapter, or the address of a "
            "server, which begins with http://"
        )
    from heartfelt.agent.retriever import is_retrieval, retriever

    if is_retrieval(Path(name)):
        return retriever(Path(name), listener, reranker)
    from heartfelt.agent.answering import AnswererRun, writes

    if writes(Path(name)):
        return AnswererRun(Path(name), listener)
    from heartfelt.agent.run_folder import RunFolder

    return RunFolder(Path(name))


def _llama(adapter: Path, slots: int, threads: int | None) -> "LlamaCpp":
    from heartfelt.agent.llama import LlamaCpp, gguf_in
    from heartfelt.models.merge import is_merged, merged

    base = gguf_in(_base())
    if not adapter.is_file():
        raise MissingData(f"There is no adapter {adapter}")
    try:
        if not is_merged(base, adapter):
            print(f"Putting {adapter.stem} into the weights, once …", file=sys.stderr)
        return LlamaCpp(merged(base, adapter), None, threads, slots)
    except OSError as problem:  # no room, or not ours to write
        why = problem.strerror or problem
        print(f"The merged weights cannot be kept ({why}): answers come slower.", file=sys.stderr)
        return LlamaCpp(base, adapter, threads, slots)


def _base() -> Path:
    """The base weights, fetched if this is the first talk."""
    folder = weights.weights_folder() / BASE
    if not folder.is_dir():
        print(f"First start: fetching {weights.WEIGHTS[BASE].what} …", file=sys.stderr)
    return weights.pull(BASE)
