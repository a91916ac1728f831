"""The ``tuneagent`` command. Commands are imported when they are called, so that ``--version`` costs 40 ms."""

from __future__ import annotations

import importlib
import io
import os
import shlex
import signal
import sys
from contextlib import suppress
from pathlib import Path
from typing import NoReturn

import click

from tuneagent import __version__
from tuneagent.app import exits

PROGRAM = "tuneagent"
COMPLETION = "_TUNEAGENT_COMPLETE"
"""What click's completion scripts set."""
COMMANDS = {
    "advise": ("tuneagent.app.advise", "Say what is wrong with the virtio networking here, why, and what to change."),
    "apply": ("tuneagent.app.apply", "Make a policy's changes, all or none of them, so that they can be undone."),
    "confirm": ("tuneagent.app.confirm", "Keep what was applied with a deadline."),
    "rollback": ("tuneagent.app.rollback", "Give back what was applied, where it still stands."),
    "status": ("tuneagent.app.status", "Say what is applied, and whether it still stands and is in effect."),
    "trial": (
        "tuneagent.app.trial",
        "Measure what a policy does, with and without it in turn, and keep it if it helps.",
    ),
    "tune": ("tuneagent.app.tune", "Find what is wrong, try what would mend it, and keep what is proven to help."),
    "sweep": ("tuneagent.app.sweep", "Measure several values of one setting, and find the knee of their curve."),
    "history": ("tuneagent.app.history", "List the trials that were measured, the newest first."),
    "report": ("tuneagent.app.report", "Tell a trial in full, as text, JSON or one page; or compare two."),
    "export": ("tuneagent.app.export", "Write trials as lines of JSON, with every round."),
    "import": ("tuneagent.app.import_trials", "Read in what export wrote."),
    "load": ("tuneagent.app.load", "Measure request and response rates between two machines."),
    "contention": ("tuneagent.app.contention", "Say who waits for which of the kernel's locks."),
    "profile": ("tuneagent.app.profile", "Rank the kernel's functions by their CPU time, or what changed in it."),
    "snapshot": ("tuneagent.app.snapshot", "Write what this machine shows, raw, as one file or a tree."),
    "doctor": ("tuneagent.app.doctor", "Say what can be seen here, what cannot, and what would help."),
    "explain": ("tuneagent.app.explain", "Print the page of a rule, a policy or a topic, or of the JSON keys."),
    "policies": ("tuneagent.app.policies", "List, show and check policies, and publish their schema."),
}
"""Name → module and one line of help. Each module defines ``command``."""

WRITING = frozenset({"apply", "confirm", "rollback", "trial", "tune", "sweep"})


class Commands(click.Group):
    """A group whose commands are imported on demand; their one-line help does not need them."""

    def list_commands(self, ctx: click.Context) -> list[str]:  # noqa: ARG002 - click's signature
        """The names in the order of a first use."""
        return list(COMMANDS)

    def get_command(self, ctx: click.Context, cmd_name: str) -> click.Command | None:  # noqa: ARG002 - click's signature
        """The command, imported now."""
        if cmd_name not in COMMANDS:
            return None
        command = importlib.import_module(COMMANDS[cmd_name][0]).command
        return command if isinstance(command, click.Command) else None

    def format_commands(self, ctx: click.Context, formatter: click.HelpFormatter) -> None:  # noqa: ARG002 - as above
        """The list of commands, without importing any."""
        with formatter.section("Commands"):
            formatter.write_dl([(name, text) for name, (_, text) in COMMANDS.items()])


@click.group(cls=Commands, context_settings={"help_option_names": ["-h", "--help"]})
@click.version_option(__version__, prog_name="tuneagent")
def cli() -> None:
    """Find what slows virtio networking in KVM virtual machines.

    Reading needs no configuration and no root; root adds, and the report says what. Only apply, rollback,
    trial, tune and sweep change settings, and each old value is written down first, so that it can be given back.

    Begin with `tuneagent advise`; `tuneagent explain` lists the pages to read.
    """


def main() -> NoReturn:
    """Run the command line and exit with one of the codes of ``exits``, however often somebody interrupts that."""
    code = exits.INTERRUPTED
    try:
        code = run(sys.argv[1:])
        _be_deaf()
    except KeyboardInterrupt:  # one more, while it told of the first
        _be_deaf()
    sys.exit(code)


def _be_deaf() -> None:
    """Nothing is left to interrupt but Python's own end, which would tell of it in a traceback, or die of it."""
    with suppress(KeyboardInterrupt):  # of one that came and was not raised yet
        signal.pthread_sigmask(signal.SIG_BLOCK, {signal.SIGINT})
    signal.signal(signal.SIGINT, signal.SIG_IGN)


def run(arguments: list[str]) -> int:
    """The exit code of one command line. Errors of usage and input are one line on standard error."""
    _have_streams()
    try:
        code = _invoke(arguments)
        sys.stdout.flush()
    except click.ClickException as error:
        _tell(error)
        return error.exit_code
    except (click.Abort, KeyboardInterrupt):
        with suppress(OSError):
            click.echo(f"interrupted; {_left(arguments)}", err=True)
        return exits.INTERRUPTED
    except BrokenPipeError:
        from tuneagent.app import output  # the reader went away (| head)

        output.discard()
        return exits.DONE
    except (OSError, MemoryError) as error:
        reason = getattr(error, "strerror", None) or str(error) or "out of memory"
        with suppress(OSError):
            click.echo(f"tuneagent: {reason}", err=True)
        return exits.FAILED
    return code if isinstance(code, int) else exits.DONE


def _left(arguments: list[str]) -> str:
    """What an interrupt leaves; a command that changes things may have been done by then, and about to tell of it."""
    return "nothing was changed" if WRITING.isdisjoint(arguments) else "`tuneagent status` tells what stands"


def _invoke(arguments: list[str]) -> object:
    # Not cli.main(): it turns a reader that went away into exit 1, which a script with pipefail takes for a failure.
    if asked := os.environ.get(COMPLETION):
        from click.shell_completion import shell_complete

        try:
            return shell_complete(cli, {}, PROGRAM, COMPLETION, asked)
        except (KeyError, ValueError):  # not called by a shell: COMP_WORDS and COMP_CWORD are missing or none
            return exits.BAD_INPUT
    try:
        # The words themselves are for the journal: what was typed is what people search for.
        with cli.make_context(PROGRAM, list(arguments), obj=shlex.join((PROGRAM, *arguments))) as ctx:
            return cli.invoke(ctx)
    except click.exceptions.Exit as done:  # --help and --version
        return done.exit_code


def _have_streams() -> None:
    """A stream that was closed before the start is None in Python; and no encoding may stop a report."""
    for name in ("stdout", "stderr"):
        stream = getattr(sys, name)
        if stream is None:
            setattr(sys, name, Path(os.devnull).open("w", encoding="utf-8"))  # noqa: SIM115 - open as long as we are
        elif isinstance(stream, io.TextIOWrapper):
            stream.reconfigure(errors="backslashreplace")


def _tell(error: click.ClickException) -> None:
    if not isinstance(error, click.UsageError) or isinstance(error, click.exceptions.NoArgsIsHelpError):
        error.show()
        return
    # click would print the usage and a hint around it: four lines to find one in.
    command = error.ctx.command_path if error.ctx is not None else PROGRAM
    with suppress(OSError):
        click.echo(f"{command}: {' '.join(error.format_message().split())}", err=True)
