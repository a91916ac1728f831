"""The page of a trial, in a real browser."""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import replace
from html.parser import HTMLParser
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

from tests import make_trials
from tests.report import browser
from tuneagent.model.trial import Arm, Effect, Round, Trial
from tuneagent.report.trial_html import write

if TYPE_CHECKING:
    from playwright.sync_api import Browser

EVIL = '"><script>document.title="x"</script><img src="http://192.0.2.1/x" onerror=alert(1)>\x1b[2J\u202e\0{{ 7*7 }}'
VOID = {"meta", "link", "br", "img"}
TEXTS = "[...document.querySelectorAll('svg text')]"
QUESTIONS = {
    "title": "document.title",
    "wide": "document.documentElement.scrollWidth - document.documentElement.clientWidth",
    "headline": "document.querySelector('h1').textContent",
    "scripts": "document.querySelectorAll('script, img, iframe, object, form').length",
    "decides": "[...document.querySelectorAll('tr.decides > *')].map(one => one.textContent.trim())",
    "figures": "document.querySelectorAll('svg[role=img]').length",
    "unnamed": "[...document.querySelectorAll('svg[role=img]')].filter(one => one.getAttribute('aria-labelledby')"
    ".split(' ').some(id => !document.getElementById(id)?.textContent.trim())).length",
    "bare tables": "[...document.querySelectorAll('table')].filter(one => !one.caption?.textContent.trim()"
    " || !one.querySelector('thead th[scope=col]')).length",
    "ids twice": "(ids => ids.length - new Set(ids).size)([...document.querySelectorAll('[id]')].map(one => one.id))",
    "ink": "getComputedStyle(document.body).color",
    "paper": "getComputedStyle(document.body).backgroundColor",
    "outside": TEXTS + ".filter(one => {const a = one.getBoundingClientRect(),"
    " b = one.ownerSVGElement.getBoundingClientRect();"
    " return a.left < b.left - 1 || a.right > b.right + 1 || a.bottom > b.bottom + 1}).map(one => one.textContent)",
    "over one another": TEXTS + ".flatMap((one, place, all) => all.slice(place + 1).filter(other => {"
    "if (one.ownerSVGElement !== other.ownerSVGElement) return false;"
    " const a = one.getBoundingClientRect(), b = other.getBoundingClientRect();"
    " return a.left < b.right - 1 && b.left < a.right - 1 && a.top < b.bottom - 3 && b.top < a.bottom - 3})"
    ".map(other => one.textContent + '|' + other.textContent))",
    "letters": "Math.min(..." + TEXTS + ".map(one => one.getBoundingClientRect().height))",
    "hatched": "getComputedStyle(document.querySelector('.bar.a') || document.body).fill",
    "cells": "[...document.querySelectorAll('.heat')].map(one => [...one.querySelectorAll('tbody tr')]"
    ".map(row => [...row.cells].map(cell => cell.textContent)))",
}


@pytest.fixture(scope="module")
def chromium() -> Iterator[Browser]:
    with browser.started() as one:
        yield one


def page(trial: Trial, tmp_path: Path) -> Path:
    file = tmp_path / "trial.html"
    file.write_text(write(trial, "9.9"), encoding="utf-8")
    return file


def hostile() -> Trial:
    """Every text says what no page should do, and numbers are as large as JSON has them."""
    asked = replace(make_trials.question(EVIL, EVIL), subject=EVIL, changes=(replace(make_trials.change(), why=EVIL),))
    extreme = Effect("transactions_per_sec", 12, 0.0, 1e308, -250.0, -1e308, 1e308, None, None, EVIL)
    whole = make_trials.pin()
    assert whole.verdict is not None
    verdict = replace(whole.verdict, why=EVIL, primary=extreme, effects=(extreme,), notes=(EVIL,))
    values = (0.0, -1e308, 1e308, 5e-324)
    rounds = tuple(
        Round(
            number,
            number,
            (Arm.A, Arm.B)[number % 2],
            0,
            0.0,
            {"transactions_per_sec": value, EVIL: value},
            missing={EVIL: EVIL},
            queue_interrupts={EVIL: {EVIL: value}},
            exits_by_kind={EVIL: value},
            unused=EVIL if number == 3 else "",
        )
        for number, value in enumerate(values)
    )
    return replace(whole, question=asked, verdict=verdict, rounds=rounds, facts={EVIL: EVIL}, version=EVIL)


TRIALS = {
    "pin": make_trials.pin(),
    "e1": make_trials.e1(),
    "failed": make_trials.failed(),
    "running": make_trials.running(),
    "hostile": hostile(),
}


@pytest.mark.parametrize("scheme", ["light", "dark"])
@pytest.mark.parametrize("width", [400, 1400])
@pytest.mark.parametrize("name", TRIALS)
def test_a_page_opens_and_asks_nobody(chromium: Browser, tmp_path: Path, name: str, width: int, scheme: str) -> None:
    file = page(TRIALS[name], tmp_path)

    seen = browser.opened(chromium, file, QUESTIONS, width=width, scheme=scheme)

    assert seen.said == []
    assert seen.asked == [file.as_uri()]
    assert seen.answers["wide"] <= 0
    assert (seen.answers["scripts"], seen.answers["ids twice"]) == (0, 0)
    assert (seen.answers["unnamed"], seen.answers["bare tables"]) == (0, 0)
    assert seen.answers["outside"] == []
    if name != "hostile":
        assert seen.answers["over one another"] == []
    assert seen.answers["title"].startswith("Trial ")


def test_the_page_says_what_the_text_says(chromium: Browser, tmp_path: Path) -> None:
    seen = browser.opened(chromium, page(make_trials.pin(), tmp_path), QUESTIONS, width=1400, scheme="light").answers

    assert seen["headline"].startswith("Keep: transactions/s +73.4 % (95 % interval +57.5 to +91.0 %, 12 pairs)")
    assert seen["decides"] == ["transactions/s*", "1,326", "2,299", "+73.4 %", "+57.5 to +91.0 %", "12", "better"]
    assert seen["figures"] == 7  # the intervals, four metrics, exits, latency
    assert seen["cells"] == [
        [["input.0", "491", "0"], ["output.0", "301", "0"], ["input.1", "460", "0"], ["output.1", "333", "0"]],
        [["input.0", "937", "0"], ["output.0", "575", "0"], ["input.1", "0", "877"], ["output.1", "0", "635"]],
    ]
    assert "hatch" in seen["hatched"]


def test_light_is_dark_on_light_and_dark_is_light_on_dark(chromium: Browser, tmp_path: Path) -> None:
    file = page(make_trials.e1(), tmp_path)
    looks = {
        scheme: browser.opened(chromium, file, QUESTIONS, width=1400, scheme=scheme).answers
        for scheme in ("light", "dark")
    }

    def brightness(colour: str) -> int:
        return sum(map(int, re.findall(r"\d+", colour)[:3]))

    assert brightness(looks["light"]["paper"]) - brightness(looks["light"]["ink"]) > 500
    assert brightness(looks["dark"]["ink"]) - brightness(looks["dark"]["paper"]) > 500


@pytest.mark.parametrize("width", [400, 1400])
def test_letters_can_be_read(chromium: Browser, tmp_path: Path, width: int) -> None:
    seen = browser.opened(chromium, page(make_trials.pin(), tmp_path), QUESTIONS, width=width, scheme="light")

    assert seen.answers["letters"] >= 12  # of the line's box; the letters are four fifths of it


class Shape(HTMLParser):
    """Whether every element that was begun is ended, in order; and the attributes."""

    def __init__(self) -> None:
        super().__init__()
        self.open: list[str] = []
        self.attributes: list[tuple[str, str | None]] = []

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.attributes += attrs
        if tag not in VOID:
            self.open.append(tag)

    def handle_endtag(self, tag: str) -> None:
        assert self.open.pop() == tag


@pytest.mark.parametrize("name", TRIALS)
def test_a_page_is_whole_and_names_no_address(name: str) -> None:
    text = write(TRIALS[name], "9.9")
    shape = Shape()
    shape.feed(text)

    assert shape.open == []
    names = {key for key, _ in shape.attributes}
    assert not any(key.startswith("on") for key in names)
    assert not names & {"style", "src", "srcset", "action", "xlink:href"}
    assert {value for key, value in shape.attributes if key == "href"} == {"data:,"}
    assert "<script" not in text
    assert not re.search(r"[\x00-\x08\x0b-\x1f\u202e]", text)
    assert "default-src &#39;none&#39;; style-src &#39;sha256-" in text


def test_a_page_of_the_largest_machine_is_bounded() -> None:
    cpus = {str(cpu): float(cpu) for cpu in range(256)}
    queues = {f"input.{queue}": cpus for queue in range(256)}
    rounds = tuple(replace(one, queue_interrupts=queues) for one in make_trials.e1().rounds)

    text = write(replace(make_trials.e1(), rounds=rounds), "1")

    assert len(text) < 600_000
    assert "Not shown: 223 CPUs with fewer interrupts and 192 queues; --json has them." in text
    assert "CPU 255" in text
