"""The entry point: finds the verb, and is the one place where errors become text and exit codes."""

from __future__ import annotations

import os
import select
import sys
import traceback
from collections.abc import Sequence
from difflib import get_close_matches
from importlib import import_module
from itertools import pairwise
from typing import NamedTuple, NoReturn

import click

from fgtrace import __version__
from fgtrace.cli.names import unknown_name
from fgtrace.cli.output import discard, emit, tell_error
from fgtrace.errors import ExitCode, FgtraceError
from fgtrace.text.data import json_text

COMPLETION = "_FGTRACE_COMPLETE"
"""The variable by which a shell asks for completions."""


class Verb(NamedTuple):
    """Where a verb is, and its summary: `--help` imports none of them."""

    command: str
    summary: str


VERBS = {
    "collect": Verb(
        "fgtrace.cli.collect:collect", "Check, time and profile a case by several routes."
    ),
    "show": Verb("fgtrace.cli.show:show", "Print a report of a trace."),
    "view": Verb("fgtrace.cli.view:view", "Browse a recording in the terminal."),
    "diff": Verb("fgtrace.cli.diff:diff", "Compare recordings: what changed, and is it real."),
    "cases": Verb("fgtrace.cli.cases:cases", "List the cases and the routes that can serve them."),
    "doctor": Verb("fgtrace.cli.doctor:doctor", "Say what can be recorded here, and what not."),
    "cache": Verb("fgtrace.cli.cache:cache", "List what is kept of traces, or remove it."),
    "recorder": Verb(
        "fgtrace.cli.recorder:recorder",
        "Write the recorder as one file, for machines where nothing can be installed.",
    ),
}


class Verbs(click.Group):
    """The verbs by their table."""

    def list_commands(self, ctx: click.Context) -> list[str]:
        """Give the verbs in the order of the table."""
        return list(VERBS)

    def get_command(self, ctx: click.Context, cmd_name: str) -> click.Command | None:
        """Import a verb."""
        if cmd_name not in VERBS:
            return None
        module, attribute = VERBS[cmd_name].command.split(":")
        command: click.Command = getattr(import_module(module), attribute)
        return command

    def resolve_command(
        self, ctx: click.Context, args: list[str]
    ) -> tuple[str | None, click.Command | None, list[str]]:
        """Refuse an unknown verb."""
        if args[0] not in VERBS and not ctx.resilient_parsing:
            raise unknown_name("verb", args[0], VERBS)
        return super().resolve_command(ctx, args)

    def format_commands(self, ctx: click.Context, formatter: click.HelpFormatter) -> None:
        """Write the verbs and their summaries."""
        with formatter.section("Verbs"):
            formatter.write_dl([(name, verb.summary) for name, verb in VERBS.items()])

    def shell_complete(
        self, ctx: click.Context, incomplete: str
    ) -> list[click.shell_completion.CompletionItem]:
        """Offer verbs without importing them, else what any command offers."""
        verbs = [
            click.shell_completion.CompletionItem(name, help=verb.summary)
            for name, verb in VERBS.items()
            if name.startswith(incomplete)
        ]
        return verbs + click.Command.shell_complete(self, ctx, incomplete)


@click.group(
    cls=Verbs,
    subcommand_metavar="VERB ...",
    context_settings={"help_option_names": ["-h", "--help"]},
    epilog=f'Completion: eval "$({COMPLETION}=bash_source fgtrace)" in bash; zsh_source and '
    "fish_source for those.",
)
@click.version_option(__version__, message="fgtrace %(version)s")
def fgtrace() -> None:
    """Find out what an operator call spends its time on."""


def run() -> NoReturn:
    """Run the command line of this process."""
    for stream in (sys.stdout, sys.stderr):
        # A µ or a name must not end the program where the terminal knows ASCII only.
        if stream is not None and hasattr(stream, "reconfigure"):
            stream.reconfigure(errors="backslashreplace")
    if COMPLETION in os.environ:
        fgtrace.main(prog_name="fgtrace", complete_var=COMPLETION)
    arguments = sys.argv[1:]
    try:
        code = _run(arguments)
        if sys.stdout is not None:
            sys.stdout.flush()
    except BrokenPipeError:
        discard(sys.stdout)
        discard(sys.stderr)
        code = ExitCode.OK
    sys.exit(code)


def _run(arguments: list[str]) -> int:
    """Run a verb and report what went wrong; only a closed stdout or stderr gets out."""
    try:
        with fgtrace.make_context("fgtrace", list(arguments)) as context:
            fgtrace.invoke(context)
        return ExitCode.OK
    except click.exceptions.Exit as exit_:
        return exit_.exit_code
    except (KeyboardInterrupt, click.Abort):
        return ExitCode.INTERRUPTED
    except FgtraceError as error:
        return _report(error, arguments)
    except click.ClickException as error:
        return _report(_usage_error(error), arguments)
    except Exception as error:
        if isinstance(error, BrokenPipeError) and _reader_has_gone():
            raise
        return _report(_defect(error), arguments)


def _report(error: FgtraceError, arguments: Sequence[str]) -> ExitCode:
    tell_error(error.message, error.hint, error.excerpt)
    if "--format=json" in arguments or ("--format", "json") in pairwise(arguments):
        about = {"kind": error.kind, "message": str(error), "hint": error.hint}
        emit(json_text({"outcome": "error", "error": about}))
    return error.exit_code


def _usage_error(error: click.ClickException) -> FgtraceError:
    context = getattr(error, "ctx", None)
    command = context.command_path if context else "fgtrace"
    message = error.format_message().rstrip(".")
    hint = f"{command} --help lists what it takes"
    if isinstance(error, click.exceptions.NoArgsIsHelpError):
        message = "a verb is missing"
    elif isinstance(error, click.NoSuchOption):
        message = f"{command} has no option {error.option_name!r}"
        options = (
            [name for param in context.command.get_params(context) for name in param.opts]
            if context
            else []
        )
        nearest = get_close_matches(error.option_name, options, n=1, cutoff=0.5)
        hint = f"did you mean {nearest[0]}?" if nearest else hint
    return FgtraceError(
        message[:1].lower() + message[1:], hint=hint, kind="usage", exit_code=ExitCode.USAGE
    )


def _defect(error: Exception) -> FgtraceError:
    if os.environ.get("FGTRACE_TRACEBACK"):
        traceback.print_exception(error)
    return FgtraceError(
        f"{type(error).__name__}: {error}",
        hint="this is a defect of fgtrace; FGTRACE_TRACEBACK=1 shows where, for a report of it",
        kind="internal",
        exit_code=ExitCode.INTERNAL,
    )


def _reader_has_gone() -> bool:
    """Tell a closed stdout or stderr from any other pipe that broke, a child's for example."""
    poll = select.poll()
    for stream in (sys.stdout, sys.stderr):
        if stream is not None:
            poll.register(stream.fileno(), 0)
    return any(event & (select.POLLERR | select.POLLHUP) for _, event in poll.poll(0))


if __name__ == "__main__":
    run()
