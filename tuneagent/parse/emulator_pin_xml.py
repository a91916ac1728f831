"""A domain's definition without its ``<emulatorpin>``; every other byte stays."""

from __future__ import annotations

from collections.abc import Iterator
from xml.etree import ElementTree as ET
from xml.parsers import expat

from tuneagent.parse.xml_text import root

_PATH = ["domain", "cputune", "emulatorpin"]
_CLOSING = b"</emulatorpin"


def without(text: str) -> str:
    """The text without ``<domain><cputune><emulatorpin/>``; libvirt leaves out a ``<cputune>`` that is empty then.

    It is taken out of the text, and the text is not written anew: a definition may hold what we do not know, and
    metadata of others may have elements of that name. ParseError for what is no XML of bounded size.
    """
    if not _has(root(text)):
        return text
    data = text.encode()
    for begin, end in reversed(list(_spans(data))):
        data = data[:begin] + data[end:]
    return data.decode()


def _has(domain: ET.Element) -> bool:
    return domain.find("cputune/emulatorpin") is not None


def _spans(data: bytes) -> Iterator[tuple[int, int]]:
    """First byte of each such element, and the byte behind it."""
    path: list[str] = []
    marks: list[int] = []
    parser = expat.ParserCreate("utf-8")

    def start(name: str, _attributes: object) -> None:
        path.append(name)
        if path == _PATH:
            marks.append(parser.CurrentByteIndex)

    def end(_name: str) -> None:
        if path == _PATH:
            marks.append(parser.CurrentByteIndex)
        path.pop()

    parser.StartElementHandler = start
    parser.EndElementHandler = end
    parser.Parse(data, True)  # noqa: FBT003 - expat takes it by place
    for begin, last in zip(marks[::2], marks[1::2], strict=True):
        # Of an empty element expat tells the end behind its one tag, of another before the closing tag.
        yield begin, data.index(b">", last) + 1 if data.startswith(_CLOSING, last) else last
