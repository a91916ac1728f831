"""``tuneagent explain``: the pages, for the person who got the report."""

from __future__ import annotations

from importlib import resources
from pathlib import Path

import click

from tuneagent.app import exits, options

GUIDES = ("hypervisor", "changing", "trials", "locks", "demo", "developing")
"""In the order of reading."""


@click.command()
@click.argument("name", required=False)
@options.policies
def command(*, name: str | None, directories: tuple[Path, ...]) -> int:
    """Print the page of a rule, a policy or a topic; `json` for the keys of --json; without a name, list all pages."""
    from tuneagent.app import output, policy_files
    from tuneagent.app.policy_files import rule_names
    from tuneagent.report import plain
    from tuneagent.report.page_text import listed
    from tuneagent.report.policy_text import page

    width = output.terminal_width()
    policies = {policy.name: policy for policy in policy_files.policies(directories)}
    if name is None:
        rows = [(guide, _title(_guide(guide))) for guide in GUIDES]
        rows += [(rule, _first_sentence(_page(rule))) for rule in sorted(rule_names())]
        rows += [(policy.name, policy.title) for policy in policies.values()]
        rows.append(("json", "the keys of --json"))
        click.echo(listed(rows, width))
    elif name in rule_names():
        click.echo(_fitted(_page(name), width), nl=False)
    elif name in GUIDES:
        click.echo(_fitted(_guide(name), width), nl=False)
    elif name == "json":
        keys = resources.files("tuneagent.report").joinpath("json.md").read_text("utf-8")
        click.echo(_fitted(keys, width), nl=False)
    elif name in policies:
        click.echo(page(policies[name], width or plain.WIDTH), nl=False)
    else:
        raise click.UsageError(_unknown(name, [*GUIDES, *rule_names(), *policies, "json"]))
    return exits.DONE


def _fitted(page: str, width: int | None) -> str:
    """As it is written for a pipe, and no wider than the terminal for a person."""
    from tuneagent.report.page_text import reflowed

    return page if width is None else reflowed(page, width)


def _page(rule: str) -> str:
    return resources.files("tuneagent.diagnose").joinpath("pages", f"{rule}.md").read_text("utf-8")


def _guide(topic: str) -> str:
    return resources.files("tuneagent.report").joinpath("guides", f"{topic}.md").read_text("utf-8")


def _title(page: str) -> str:
    """Of ``# locks: waits for locks``, what follows the name."""
    return page.partition("\n")[0].partition(": ")[2]


def _first_sentence(page: str) -> str:
    """Of the part that says what it means: the first paragraph after the second heading."""
    paragraph = page.split("\n## ", 1)[-1].split("\n", 1)[-1].strip().split("\n\n", 1)[0]
    return " ".join(paragraph.split()).split(". ", 1)[0].rstrip(".")


def _unknown(name: str, names: list[str]) -> str:
    from difflib import get_close_matches

    near = get_close_matches(name, names, 3) or sorted(one for one in names if name in one)[:3]
    hint = f"did you mean {' or '.join(near)}?" if near else "`tuneagent explain` lists all pages"
    return f"no page {name!r}; {hint}"
