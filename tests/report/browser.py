"""Debian's Chromium, driven by playwright, without a network: what a page draws, says and asks for."""

from __future__ import annotations

import os
import shutil
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest

if TYPE_CHECKING:
    from playwright.sync_api import Browser

NAMES = ("chromium", "chromium-browser", "google-chrome")


@dataclass
class Seen:
    """What a page did when it was opened."""

    said: list[str] = field(default_factory=list)
    """On the console, and errors of scripts."""
    asked: list[str] = field(default_factory=list)
    """Addresses that it asked for."""
    answers: dict[str, Any] = field(default_factory=dict)


@contextmanager
def started() -> Iterator[Browser]:
    """A browser; skipped where there is none, which on a machine that checks submissions is a failure."""
    program = next(filter(None, map(shutil.which, NAMES)), None)
    if program is None:
        if os.environ.get("CI"):
            pytest.fail("no browser here: apt-get install chromium")
        pytest.skip(f"needs a browser: {', '.join(NAMES)}")
    from playwright.sync_api import sync_playwright  # noqa: PLC0415 - half a second, and only where there is a browser

    with sync_playwright() as driver:
        browser = driver.chromium.launch(executable_path=program, args=["--no-sandbox"])
        yield browser
        browser.close()


def opened(
    browser: Browser, page: Path, questions: dict[str, str], *, width: int, scheme: str, forced: bool = False
) -> Seen:
    """Opens a file and evaluates each question in it."""
    seen = Seen()
    context = browser.new_context(
        viewport={"width": width, "height": 900},
        color_scheme="dark" if scheme == "dark" else "light",
        forced_colors="active" if forced else "none",
    )
    tab = context.new_page()
    tab.on("console", lambda message: seen.said.append(message.text))
    tab.on("pageerror", lambda error: seen.said.append(str(error)))
    tab.on("request", lambda request: seen.asked.append(request.url))
    tab.goto(page.as_uri())
    tab.wait_for_load_state("networkidle")
    seen.answers = {name: tab.evaluate(question) for name, question in questions.items()}
    context.close()
    return seen
