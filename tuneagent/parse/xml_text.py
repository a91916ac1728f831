"""XML from outside as a tree of bounded size and depth, and an element of it as one canonical line again."""

from __future__ import annotations

import re
from xml.etree import ElementTree as ET
from xml.parsers import expat

from tuneagent.model.errors import ParseError
from tuneagent.model.missing import Reason
from tuneagent.parse.lines import empty

MAX_LENGTH = 1 << 20
"""Characters; a domain with hundreds of devices takes a quarter of it."""
MAX_DEPTH = 64

_PROLOGUE = re.compile(r"\ufeff?(?:\s++|<\?.*?\?>|<!--.*?-->)*+", re.DOTALL)
_PLAIN = re.compile(r"[\w.:/-]*", re.ASCII)
_TO_ESCAPE = re.compile(r"[&<>']")
_ESCAPES = {"&": "&amp;", "<": "&lt;", ">": "&gt;", "'": "&apos;"}


def root(text: str) -> ET.Element:
    """The root of a document without a document type: so there are no entities that could grow or read files.

    ParseError, with the line where there is one, for what is no XML, for more than MAX_LENGTH characters and for
    elements nested deeper than MAX_DEPTH.
    """
    if len(text) > MAX_LENGTH:
        raise ParseError(f"XML of more than {MAX_LENGTH} characters", reason=Reason.TOO_LARGE)
    if not text or text.isspace():
        raise empty()
    prologue = _PROLOGUE.match(text)
    if prologue is not None and text.startswith("<!", prologue.end()):
        raise ParseError("XML with a document type is refused", 1 + text.count("\n", 0, prologue.end()))
    element = _parsed(text)
    _check_depth(element)
    return element


def one_line(element: ET.Element, limit: int) -> str:
    """The element on one printable line, without blanks between elements, in libvirt's single quotes.

    An empty text where it would be longer than ``limit`` or has parts of another namespace.
    """
    line = _line(element)
    return "" if len(line) > limit or ("{" in line and _is_foreign(element)) else line


def _is_foreign(element: ET.Element) -> bool:
    # ElementTree writes a name of another namespace as {namespace}name.
    return any("{" in name for one in element.iter() for name in (one.tag, *one.keys()))


def _parsed(text: str) -> ET.Element:
    try:
        return ET.fromstring(text)  # noqa: S314 - no document type reaches this point
    except ET.ParseError as error:
        raise ParseError(f"no XML: {expat.ErrorString(error.code)}", error.position[0]) from None
    except (ValueError, LookupError):  # half of a surrogate pair, an encoding that is none
        raise ParseError("no XML: characters that cannot be encoded") from None


def _check_depth(element: ET.Element) -> None:
    level = [element]
    for _ in range(MAX_DEPTH):
        level = [inner for outer in level for inner in outer]
        if not level:
            return
    raise ParseError(f"XML nested deeper than {MAX_DEPTH}", reason=Reason.TOO_LARGE)


def _line(element: ET.Element) -> str:
    start = element.tag
    for name, value in element.items():
        start += f" {name}='{value if _PLAIN.fullmatch(value) else _escaped(value)}'"
    inner = _text(element.text)
    for child in element:
        inner += _line(child) + _text(child.tail)
    return f"<{start}>{inner}</{element.tag}>" if inner else f"<{start}/>"


def _text(text: str | None) -> str:
    return _escaped(text.strip()) if text and not text.isspace() else ""


def _escaped(text: str) -> str:
    text = _TO_ESCAPE.sub(lambda match: _ESCAPES[match[0]], text)
    return text if text.isprintable() else "".join(char if char.isprintable() else f"&#{ord(char)};" for char in text)
