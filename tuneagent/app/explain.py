"""``tuneagent explain``: the pages, for the person who got the report."""

from __future__ import annotations

from importlib import resources

import click

from tuneagent.app import exits


@click.command()
@click.argument("name", required=False)
def command(*, name: str | None) -> int:
    """Print the page of a rule or a policy; `json` for the keys of --json; without a name, list all pages."""
    from tuneagent.app import library
    from tuneagent.app.library import RULE_NAMES
    from tuneagent.report.policy_text import page

    policies = {policy.name: policy for policy in library.policies()}
    if name is None:
        click.echo("rules:\n  " + "\n  ".join(sorted(RULE_NAMES)))
        click.echo("policies:\n  " + "\n  ".join(sorted(policies)))
        click.echo("formats:\n  json")
    elif name in RULE_NAMES:
        click.echo(resources.files("tuneagent.diagnose").joinpath("pages", f"{name}.md").read_text("utf-8"), nl=False)
    elif name == "json":
        click.echo(resources.files("tuneagent.report").joinpath("json.md").read_text("utf-8"), nl=False)
    elif name in policies:
        click.echo(page(policies[name]), nl=False)
    else:
        raise click.UsageError(_unknown(name, [*RULE_NAMES, *policies, "json"]))
    return exits.DONE


def _unknown(name: str, names: list[str]) -> str:
    from difflib import get_close_matches

    near = get_close_matches(name, names, 3)
    hint = f"did you mean {' or '.join(near)}?" if near else "`tuneagent explain` lists all pages"
    return f"no page {name!r}; {hint}"
