"""The ``tuneagent`` command. Commands are imported when they are called, so that ``--version`` costs 40 ms."""

from __future__ import annotations

import importlib
import os
import sys
from typing import NoReturn

import click

from tuneagent import __version__
from tuneagent.app import exits

COMMANDS = {
    "advise": ("tuneagent.app.advise", "Say what is wrong with the virtio networking here, why, and what to change."),
    "snapshot": ("tuneagent.app.snapshot", "Write what this machine shows, raw, as one file or a tree."),
    "doctor": ("tuneagent.app.doctor", "Say what can be seen here, what cannot, and what would help."),
    "explain": ("tuneagent.app.explain", "Print the page of a rule or a policy, or of the JSON keys."),
    "policies": ("tuneagent.app.policies", "List, show and check policies, and publish their schema."),
}
"""Name → module and one line of help. Each module defines ``command``."""


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

    Reading needs no configuration and no root; root adds, and the report says what. Nothing here changes the machine.
    """


def main() -> NoReturn:
    """Run the command line and exit: 0 done, 1 failed, 2 bad usage or input, 5 and 6 as asked for, 130 interrupted."""
    sys.exit(run(sys.argv[1:]))


def run(arguments: list[str]) -> int:
    """The exit code of one command line. Errors of usage and input are one line on standard error."""
    try:
        code = cli.main(arguments, prog_name="tuneagent", standalone_mode=False)
        sys.stdout.flush()
    except click.ClickException as error:
        error.show()
        return error.exit_code
    except (click.Abort, KeyboardInterrupt):
        click.echo("interrupted; nothing was changed", err=True)
        return exits.INTERRUPTED
    except BrokenPipeError:
        # The reader went away (| head); Python would complain again when it closes standard output.
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        return exits.DONE
    except OSError as error:
        click.echo(f"tuneagent: {error.strerror or error}", err=True)
        return exits.FAILED
    return code if isinstance(code, int) else exits.DONE
