"""Shell lines."""

from __future__ import annotations

import subprocess
from pathlib import Path

from tuneagent.apply.shell import echo


def test_a_shell_does_what_the_line_says(tmp_path: Path) -> None:
    file = tmp_path / "a $(touch pwned);'b\""
    file.write_text("")
    subprocess.run(["sh", "-c", echo("$(id) ; '3'", str(file))], check=True, cwd=tmp_path, timeout=10)
    assert file.read_text() == "$(id) ; '3'\n"
    assert [path.name for path in tmp_path.iterdir()] == [file.name]
