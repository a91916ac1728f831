"""A sample as a directory tree that Sysroot reads: for people who want to look, grep and change a byte.

What a listing names and nobody read becomes an empty file (an empty directory where something is known below it) and
is entered in ``captured/errors.json`` as not captured, so that its emptiness is never taken for an answer. Where one
file was read by two ways, through a link and without, the later of the two in the sample is kept. Modes of directories
are not kept: they are all 0700.
"""

from __future__ import annotations

import json
import os
from typing import Any

from tuneagent.machine.captured_json import CapturedJsonError, inside
from tuneagent.machine.replay import Replay
from tuneagent.machine.rooted import MAX_DEPTH, MAX_LINKS
from tuneagent.machine.sample import SECTIONS
from tuneagent.model.missing import Reason

PRIVATE_FILE, PRIVATE_DIRECTORY = 0o600, 0o700
WRITABLE, READ_ONLY = 0o644, 0o444
CAPTURED = "captured"

_PLACEHOLDER = {"error": Reason.NOT_CAPTURED.value, "detail": "listed, and never read when the tree was captured"}


def write_tree(sample: dict[str, Any], directory: str) -> None:
    """Writes a sample below a directory that is empty or does not exist yet.

    Raises CapturedJsonError for a sample that cannot be a tree, FileExistsError where the directory is not empty, and
    any other OSError where writing fails.
    """
    Replay(sample)  # whatever is wrong with its types is said before anything is written
    tree = _Tree(sample)
    _empty_directory(directory)
    for path in sorted(tree.directories, key=lambda path: path.count("/")):
        os.mkdir(directory + path, PRIVATE_DIRECTORY)
    for path, text in tree.files.items():
        _write(directory + path, text, tree.modes.get(path, PRIVATE_FILE))
    # Links come last: until now there was none in the tree that a path could have gone through.
    for path, target in tree.links.items():
        os.symlink(os.path.relpath(target, os.path.dirname(path)), directory + path)


def _empty_directory(directory: str) -> None:
    try:
        os.mkdir(directory, PRIVATE_DIRECTORY)
    except FileExistsError:
        with os.scandir(directory) as entries:
            if next(entries, None) is not None:
                raise FileExistsError(f"{directory} is not empty") from None


def _write(path: str, text: str, mode: int) -> None:
    fd = os.open(path, os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_NOFOLLOW | os.O_CLOEXEC, PRIVATE_FILE)
    with os.fdopen(fd, "w", encoding="utf-8", newline="") as file:
        file.write(text)
        os.fchmod(fd, mode)


class _Tree:
    """Where everything goes: each path with the links on its way taken, so that it is the place of one entry only."""

    def __init__(self, sample: dict[str, Any]) -> None:
        self._sample = sample
        self.links: dict[str, str] = {}
        self.directories = {f"/{CAPTURED}"}
        self.files: dict[str, str] = {}
        self.modes: dict[str, int] = {}
        self._errors: dict[str, dict[str, Any]] = {name: {} for name in SECTIONS}
        self._place_links()
        self._place_directories()
        self._place_files()
        self._place_modes()
        self._place_listed()
        self._place_captured()
        self._check()

    def _answers(self, section: str) -> dict[str, Any]:
        """The answers of a section; its errors go to errors.json."""
        answers = {}
        for key, value in self._sample.get(section, {}).items():
            if isinstance(value, dict) and "error" in value:
                self._errors[section][key] = value
            else:
                answers[key] = value
        return answers

    def _place_links(self) -> None:
        answers = self._answers("links")
        for path in sorted(answers, key=lambda path: path.count("/")):
            parent, name = self._split(path, "links")
            place = _join(parent, name)
            if place == "/":
                raise CapturedJsonError("$.links", "the root is no link")
            self._add_parents(place)
            self.links[place] = "/" + "/".join(_parts(answers[path], inside("$.links", path)))

    def _place_directories(self) -> None:
        for path in self._answers("directories"):
            place = self._place(path, "directories")
            self._add_parents(place)
            if place != "/":
                self.directories.add(place)

    def _place_files(self) -> None:
        for path, value in self._answers("files").items():
            place = self._place(path, "files")
            self._add_parents(place)
            self.files[place] = value["text"]

    def _place_modes(self) -> None:
        for path, writable in self._answers("modes").items():
            place = self._place(path, "modes")
            if place not in self.directories:
                self._add_parents(place)
                self._placeholder(place, path)
                self.modes[place] = WRITABLE if writable else READ_ONLY

    def _place_listed(self) -> None:
        for path, names in self._answers("directories").items():
            parent = self._place(path, "directories")
            for name in names:
                place = _join(parent, name)
                if place not in self.directories and place not in self.links:
                    self._placeholder(place, f"{path.rstrip('/')}/{name}")

    def _placeholder(self, place: str, path: str) -> None:
        if place not in self.files:
            self.files[place] = ""
            for way in (path, place):
                self._errors["files"].setdefault(way, _PLACEHOLDER)

    def _place_captured(self) -> None:
        documents = {name: value["value"] for name, value in self._answers("captured").items()}
        documents["processes"] = self._answers("processes")
        documents["clock"] = (self._sample.get("clock") or {}) | {"read_at_ns": self._read_at()}
        documents["errors"] = {name: errors for name, errors in self._errors.items() if errors}
        for name, value in documents.items():
            place = _join(f"/{CAPTURED}", name)
            _parts(place, inside("$.captured", name))
            self.files[f"{place}.json"] = json.dumps(value, indent=1, ensure_ascii=False) + "\n"

    def _read_at(self) -> dict[str, int]:
        answered = self._answers("files") | self._answers("captured")
        return {key: value["read_at_ns"] for key, value in answered.items() if value.get("read_at_ns") is not None}

    def _add_parents(self, place: str) -> None:
        parent = place.rpartition("/")[0]
        while parent and parent not in self.directories:
            self.directories.add(parent)
            parent = parent.rpartition("/")[0]

    def _place(self, path: str, section: str) -> str:
        parent, name = self._split(path, section)
        return self._taken(_join(parent, name), inside(f"$.{section}", path)) if name else "/"

    def _split(self, path: str, section: str) -> tuple[str, str]:
        where = inside(f"$.{section}", path)
        *above, name = _parts(path, where) or [""]
        place = self._taken("/" + "/".join(above), where)
        if f"{_join(place, name)}/".startswith(f"/{CAPTURED}/"):
            raise CapturedJsonError(where, f"/{CAPTURED} is kept for what is no file")
        return place, name

    def _taken(self, path: str, where: str) -> str:
        """The path with every link on it taken."""
        todo, done, links = _parts(path, where)[::-1], "/", 0
        while todo:
            done = _join(done, todo.pop())
            if done in self.links:
                links += 1
                todo.extend(_parts(self.links[done], where)[::-1])
                done = "/"
            if links > MAX_LINKS:
                raise CapturedJsonError(where, "its links run in a circle")
        return done

    def _check(self) -> None:
        for place in self.files.keys() | self.links.keys():
            if place == "/" or place in self.directories or (place in self.files and place in self.links):
                raise CapturedJsonError("$", f"{place} is said to be of two kinds")


def _join(parent: str, name: str) -> str:
    return f"{parent.rstrip('/')}/{name}"


def _parts(path: str, where: str) -> list[str]:
    """The names on an absolute path that leads down only."""
    parts = [part for part in path.split("/") if part]
    if not path.startswith("/") or "\0" in path or {".", ".."} & set(parts) or len(parts) > MAX_DEPTH:
        raise CapturedJsonError(where, "no plain absolute path")
    return parts
