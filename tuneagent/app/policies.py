"""``tuneagent policies``: list, show, validate, schema."""

from __future__ import annotations

from pathlib import Path

import click

from tuneagent.app import exits, options


@click.group()
def command() -> None:
    """List, show and check policies, and publish the schema of their files."""


@command.command("list")
@options.policies
@options.as_json
@options.colour
def list_(*, directories: tuple[Path, ...], as_json: bool, color: str) -> int:
    """Every policy, one line each."""
    from tuneagent.app import output, policy_files
    from tuneagent.report import policy_text
    from tuneagent.report.jsonable import jsonable

    policies = policy_files.policies(directories)
    if as_json:
        output.emit_json(jsonable(policies))
    else:
        output.emit(policy_text.overview(policies), color)
    return exits.DONE


@command.command()
@click.argument("name")
@options.policies
@options.as_json
def show(*, name: str, directories: tuple[Path, ...], as_json: bool) -> int:
    """One policy in full."""
    from tuneagent.app import output, policy_files
    from tuneagent.report import policy_text
    from tuneagent.report.jsonable import jsonable

    policies = {policy.name: policy for policy in policy_files.policies(directories)}
    if name not in policies:
        raise click.UsageError(f"no policy {name!r}; there are: {', '.join(sorted(policies))}")
    if as_json:
        output.emit_json(jsonable(policies[name]))
    else:
        click.echo(policy_text.page(policies[name]), nl=False)
    return exits.DONE


@command.command()
@click.argument("paths", nargs=-1, required=True, type=click.Path(path_type=Path))
def validate(*, paths: tuple[Path, ...]) -> int:
    """Check policy files, or directories of them. Every fault is one line: file, line, column, what was expected."""
    from tuneagent.app import policy_files

    policies = policy_files.check(paths)
    for policy in policies:
        click.echo(f"{policy.path}: {policy.name}: valid")
    if not policies:
        raise click.UsageError("no policy file (*.yaml) there")
    return exits.DONE


@command.command()
def schema() -> int:
    """The JSON Schema of a policy file."""
    from tuneagent.app import output
    from tuneagent.plan.policy_schema import json_schema

    output.emit_json(json_schema())
    return exits.DONE
