from __future__ import annotations

from tuneagent.report.page_text import listed, reflowed

PAGE = """# a-rule

## What it means
One long sentence that was
wrapped for paper. `INFO` where it is idle.

- the first of two, which goes
  on in a second line
- the second

```
a command that is much longer than the terminal is wide     # and stays whole
ls

ls again
```
After it.

| key | meaning, in a row that stays whole |
|---|---|
"""


def test_a_page_is_wrapped_to_the_terminal_and_its_commands_are_not() -> None:
    lines = reflowed(PAGE, 40).splitlines()

    assert lines[2:5] == [
        "## What it means",
        "One long sentence that was wrapped for",
        "paper. `INFO` where it is idle.",
    ]
    assert lines[6:9] == ["- the first of two, which goes on in a", "  second line", "- the second"]
    assert lines[10:16] == PAGE.splitlines()[10:16]
    assert lines[16:] == PAGE.splitlines()[16:]


def test_a_page_that_fits_loses_nothing() -> None:
    assert reflowed(PAGE, 200).split() == PAGE.split()


def test_the_list_is_wrapped_beside_the_names_on_a_terminal_only() -> None:
    rows = [("vhost-absent", "QEMU itself moves the packets of a virtio interface"), ("json", "the keys")]

    assert listed(rows, None).splitlines()[0].endswith("a virtio interface")
    wrapped = listed(rows, 60).splitlines()
    assert wrapped[0].startswith("vhost-absent ")
    assert wrapped[1] == " " * 31 + "of a virtio interface"
    assert max(map(len, wrapped)) <= 60
