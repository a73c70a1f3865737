"""The command line: one table, command → function. A command's module is imported when it is called."""

import importlib
import io
import os
import signal
import sys
import traceback
from typing import Any

import click

import heartfelt
from heartfelt.errors import HeartfeltError, Terminated

# group → command → where its click function lives. The functions do no work of their own: they read the
# arguments, call the function that a notebook would call, and print what it returns.
COMMANDS: dict[str, dict[str, str]] = {
    "corpora": {
        "list": "heartfelt.corpora.commands:list_",
        "describe": "heartfelt.corpora.commands:describe",
        "check": "heartfelt.corpora.commands:check",
        "export": "heartfelt.corpora.commands:export",
        "pull": "heartfelt.corpora.commands:pull",
    },
    "arabic": {
        "segment": "heartfelt.arabic.commands:segment",
        "restore": "heartfelt.arabic.commands:restore",
    },
    "outputs": {
        "import": "heartfelt.evaluation.commands:import_",
        "formats": "heartfelt.evaluation.commands:formats",
        "answer": "heartfelt.agent.probe_commands:answer",
    },
    "probe": {
        "steering": "heartfelt.agent.probe_commands:steering",
        "neutral": "heartfelt.agent.probe_commands:neutral",
    },
    "index": {
        "build": "heartfelt.agent.index_commands:build",
        "show": "heartfelt.agent.index_commands:show",
        "search": "heartfelt.agent.index_commands:search",
    },
    "situations": {
        "find": "heartfelt.agent.situation_commands:find",
        "measure": "heartfelt.agent.situation_commands:measure",
        "check": "heartfelt.agent.situation_commands:check",
        "build": "heartfelt.agent.situation_commands:build",
    },
    "knowledge": {
        "build": "heartfelt.knowledge.commands:build",
        "show": "heartfelt.knowledge.commands:show",
    },
    "intents": {
        "ngrams": "heartfelt.curation.commands:ngrams",
        "extend": "heartfelt.curation.commands:extend",
        "balance": "heartfelt.curation.commands:balance",
    },
    "curate": {
        "subtitles": "heartfelt.curation.curate_commands:subtitles",
        "turns": "heartfelt.curation.curate_commands:turns",
    },
    "models": {
        "list": "heartfelt.models.commands:list_",
        "pull": "heartfelt.models.commands:pull",
        "card": "heartfelt.models.commands:card",
    },
    "runs": {
        "list": "heartfelt.training.commands:list_",
        "show": "heartfelt.training.commands:show",
        "report": "heartfelt.training.commands:report",
        "ensemble": "heartfelt.training.commands:ensemble",
        "soup": "heartfelt.training.commands:soup",
        "keep": "heartfelt.training.commands:keep",
        "score": "heartfelt.training.commands:score",
        "export": "heartfelt.training.commands:export",
        "restore": "heartfelt.training.commands:restore",
    },
    "study": {
        "new": "heartfelt.study.commands:new",
        "check": "heartfelt.study.commands:check",
        "serve": "heartfelt.study.commands:serve",
        "links": "heartfelt.study.commands:links",
        "status": "heartfelt.study.commands:status",
        "report": "heartfelt.study.report_commands:report",
        "export": "heartfelt.study.report_commands:export",
        "backup": "heartfelt.study.commands:backup",
    },
    "heartfelt": {  # commands without a group
        "generate": "heartfelt.agent.generate_commands:generate",
        "chat": "heartfelt.agent.chat_commands:chat",
        "reply": "heartfelt.agent.chat_commands:reply",
        "serve": "heartfelt.serving.commands:serve",
        "emotions": "heartfelt.agent.commands:emotions",
        "concepts": "heartfelt.agent.concept_commands:concepts",
        "train": "heartfelt.training.commands:train",
        "reproduce": "heartfelt.reproduction.commands:reproduce",
        "evaluate": "heartfelt.evaluation.commands:evaluate",
        "compare": "heartfelt.evaluation.commands:compare",
        "leaderboard": "heartfelt.evaluation.commands:leaderboard",
        "metrics": "heartfelt.evaluation.commands:metrics",
    },
}

GROUPS = {
    "models": "Models that come with Heartfelt and their cards; pretrained weights and how to get them.",
    "runs": "Training runs: what they are and what they scored.",
    "corpora": "Where dialogues come from: look at them, check them, convert them, fetch them.",
    "arabic": "Arabic text for models: one spelling, clitics cut off and put back.",
    "index": "Pools of replies, encoded once, for retrieval: build, show, search.",
    "situations": "What the agent answers at once: situations that it knows, and your own.",
    "knowledge": "What words bring to mind: index ConceptNet, the VAD lexicon and word vectors.",
    "intents": "From a few hand-labelled turns to a training set for intents, as EmpatheticIntents and meed2 did.",
    "curate": "From subtitle files to a corpus of emotional dialogues, as meed2 describes it.",
    "probe": "Does an agent do as it should? Steering, and small talk.",
    "study": "Studies with people: they judge systems, or talk with each other; one file, one database, one report.",
    "outputs": "What systems said on a test set: bring other projects' files into our format.",
}


class _Group(click.Group):
    """A group whose commands are named in COMMANDS and imported on use."""

    def list_commands(self, ctx: click.Context) -> list[str]:
        return [*super().list_commands(ctx), *COMMANDS[str(self.name)]]

    def get_command(self, ctx: click.Context, name: str) -> click.Command | None:
        target = COMMANDS[str(self.name)].get(name)
        if target is None:
            return super().get_command(ctx, name)
        module, function = target.split(":")
        command: click.Command = getattr(importlib.import_module(module), function)
        return command


@click.group(
    "heartfelt", cls=_Group, help="Heartfelt: hear how a person feels, answer as a good listener would."
)
@click.version_option(heartfelt.__version__, prog_name="heartfelt")
@click.option("--traceback", is_flag=True, help="Show where an error comes from (for developers).")
def app(traceback: bool) -> None:
    pass


for _name, _help in GROUPS.items():
    app.add_command(_Group(_name, help=_help))


def main(arguments: list[str] | None = None) -> None:
    """Run a command and exit: 0 done, 1 done and something was found (check), 2 an error, 130 interrupted."""
    arguments = sys.argv[1:] if arguments is None else arguments
    signal.signal(signal.SIGTERM, _interrupt)  # so that what is half-written is removed then too
    if sys.stdin is None:  # closed by the caller
        sys.stdin = open(os.devnull)  # noqa: PTH123, SIM115
    for stream in ("stdout", "stderr"):
        if getattr(sys, stream) is None:
            setattr(sys, stream, open(os.devnull, "w"))  # noqa: PTH123, SIM115
        if isinstance(getattr(sys, stream), io.TextIOWrapper):
            getattr(sys, stream).reconfigure(errors="replace")  # a terminal that knows no Arabic shows "?"
    # Taken wherever it stands: who wants a traceback has just seen an error and appends it.
    wanted = "--traceback" in arguments
    sys.exit(_run([argument for argument in arguments if argument != "--traceback"], wanted))


def _interrupt(*_: Any) -> None:
    raise Terminated


def _run(arguments: list[str], show_traceback: bool) -> int:
    try:
        # Not app.main: it has its own ideas about interrupts and broken pipes.
        with app.make_context("heartfelt", list(arguments)) as context:
            code: Any = app.invoke(context)
        sys.stdout.flush()
        return code if isinstance(code, int) else 0
    except click.exceptions.Exit as stop:
        return stop.exit_code
    except click.exceptions.NoArgsIsHelpError as help_:
        click.echo(help_.format_message())
        return 2
    except click.UsageError as problem:
        where = problem.ctx.command_path if problem.ctx else "heartfelt"
        return _say(f"{problem.format_message()} Try: {where} --help")
    except click.ClickException as problem:
        return _say(problem.format_message())
    except (KeyboardInterrupt, click.Abort):
        return _say("Stopped. Nothing was half-written.", 130)
    except BrokenPipeError:  # the reader of our output has gone, as `| head` does
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        return 0
    except Exception as problem:
        if show_traceback:
            traceback.print_exc()
            return 2
        if isinstance(problem, HeartfeltError):
            return _say(str(problem))
        if isinstance(problem, OSError) and problem.strerror:  # permissions, a full disk, a name too long …
            return _say(f"{problem.strerror}: {problem.filename or 'while reading or writing'}")
        kind = type(problem).__name__
        return _say(
            f"Unexpected {kind}: {problem}. This is a defect: run again with "
            "--traceback and report what it shows."
        )


def _say(message: str, code: int = 2) -> int:
    """One line on standard error."""
    print("heartfelt: " + " ".join(message.split()), file=sys.stderr)
    return code


if __name__ == "__main__":
    main()
