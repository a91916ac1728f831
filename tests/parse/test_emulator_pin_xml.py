from __future__ import annotations

import pytest

from tuneagent.model.errors import ParseError
from tuneagent.parse.emulator_pin_xml import without

AROUND = """<domain type='kvm'>
  <name>w\u00fcrfel</name>
  <metadata><emulatorpin cpuset='7'/><a:cputune xmlns:a='u'><emulatorpin/></a:cputune></metadata>
  <cputune>
    <vcpupin vcpu='0' cpuset='2'/>%s
  </cputune>
  <!-- <emulatorpin cpuset='5'/> -->
</domain>
"""


@pytest.mark.parametrize(
    "element",
    ["\n    <emulatorpin cpuset='0-1'/>", '<emulatorpin cpuset="0-1"></emulatorpin>', "<emulatorpin  cpuset='3'  />"],
)
def test_it_goes_and_every_other_byte_stays(element: str) -> None:
    blanks = element[: element.index("<")]
    assert without(AROUND % element) == AROUND % blanks


def test_where_it_is_not_nothing_is_done() -> None:
    assert without(AROUND % "") == AROUND % ""


@pytest.mark.parametrize("text", ["", "<domain>", "<!DOCTYPE domain><domain/>", "<domain>" + "<a>" * 500])
def test_what_is_no_definition_is_refused(text: str) -> None:
    with pytest.raises(ParseError):
        without(text)
