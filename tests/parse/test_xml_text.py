from __future__ import annotations

from xml.etree import ElementTree as ET

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tuneagent.model.errors import ParseError
from tuneagent.model.missing import Reason
from tuneagent.parse import xml_text
from tuneagent.parse.xml_text import one_line, root

LAUGHS = """<?xml version='1.0'?>
<!-- a laugh -->
<!DOCTYPE d [<!ENTITY a "ha"><!ENTITY b "&a;&a;">]>
<d>&b;</d>"""


def fault(text: str) -> ParseError:
    with pytest.raises(ParseError) as caught:
        root(text)
    return caught.value


def test_a_document_type_is_refused_with_its_line() -> None:
    assert str(fault(LAUGHS)) == "line 3: XML with a document type is refused"
    assert fault("\ufeff<!DOCTYPE d SYSTEM 'file:///etc/passwd'><d/>").line == 1


def test_words_that_look_like_one_are_text() -> None:
    assert root("<!-- <!DOCTYPE --><?x <!DOCTYPE?><d><![CDATA[<!DOCTYPE a>]]></d>").text == "<!DOCTYPE a>"


@pytest.mark.parametrize(
    ("text", "reason", "line"),
    [
        ("", Reason.EMPTY, None),
        (" \n", Reason.EMPTY, None),
        ("<d>\n<e>\n</d>", Reason.MALFORMED, 3),
        ("<d>&b;</d>", Reason.MALFORMED, 1),
        ("<d", Reason.MALFORMED, 1),
        ("<d>\x00</d>", Reason.MALFORMED, 1),
        ("<d>\ud800</d>", Reason.MALFORMED, None),
        ("<q:d/>", Reason.MALFORMED, 1),
        ("<d/>" + " " * (1 << 20), Reason.TOO_LARGE, None),
        ("<d>" * 65 + "</d>" * 65, Reason.TOO_LARGE, None),
    ],
)
def test_what_cannot_be_read_says_why(text: str, reason: Reason, line: int | None) -> None:
    error = fault(text)
    assert (error.reason, error.line) == (reason, line)


def test_an_encoding_that_is_told_is_not_that_of_a_text() -> None:
    assert root("<?xml version='1.0' encoding='utf-16'?><d>\u00e9</d>").text == "\u00e9"


def test_sixty_four_levels_are_read() -> None:
    assert len(list(root("<d>" * 64 + "</d>" * 64).iter())) == 64


def test_one_line_is_canonical() -> None:
    element = root("<a  c=\"1'&lt;2\"\n b = '&#10;&amp;'>\n  <d></d> text \n <e>\n x\u202ey</e></a>")
    line = "<a c='1&apos;&lt;2' b='&#10;&amp;'><d/>text<e>x&#8238;y</e></a>"
    assert one_line(element, 1000) == line
    assert one_line(root(line), len(line)) == line
    assert not one_line(element, len(line) - 1)


@pytest.mark.parametrize("text", ["<a xmlns:q='u'><q:b/></a>", "<a xmlns:q='u' q:c='1'/>"])
def test_parts_of_another_namespace_have_no_line(text: str) -> None:
    assert not one_line(root(text), 1000)


def test_braces_in_values_are_no_namespace() -> None:
    assert one_line(root("<a b='{c}'/>"), 1000) == "<a b='{c}'/>"


@given(st.text(st.characters(exclude_categories=["Cs", "Cc"]), max_size=30), st.text("a'\"<>&\n \u0085", max_size=9))
def test_one_line_reads_back_as_what_it_was(value: str, text: str) -> None:
    element = ET.Element("a", {"b": value, "c": text})
    ET.SubElement(element, "d").text = text.strip() or None
    line = one_line(element, 10_000)
    assert line.isprintable()
    again = root(line)
    assert (again.attrib, again[0].text) == (element.attrib, element[0].text)


def test_a_large_hostile_text_ends(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(xml_text, "MAX_LENGTH", 1 << 22)
    for text in ("<!--" * 200_000, "<?" * 200_000, "<d " + "a" * 1_000_000, "<d>" * 200_000, " " * 999_999 + "<"):
        fault(text)
