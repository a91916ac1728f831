from __future__ import annotations

import pytest
import yaml
from hypothesis import given
from hypothesis import strategies as st

from tuneagent.plan import policy_yaml
from tuneagent.plan.policy_yaml import MAX_DEPTH, MAX_NODES, Place, read


def faults(text: str) -> list[str]:
    return [str(fault) for fault in read("p.yaml", text).faults]


def test_values_and_where_they_stand() -> None:
    document = read("p.yaml", 'a: 1\nb:\n  - "010"\n  - {c: true, d: off it goes}\ne: >-\n  two\n  lines\n')
    assert document.faults == []
    assert document.value == {"a": 1, "b": ["010", {"c": True, "d": "off it goes"}], "e": "two lines"}
    assert document.place(("b", 1, "d")) == Place(4, 18)
    assert document.place(("b", 1, "d"), key=True) == Place(4, 15)
    assert document.place(("b", 1, "nowhere", "at all")) == Place(4, 5)


def test_without_libyaml_the_places_are_the_same(monkeypatch: pytest.MonkeyPatch) -> None:
    text = "a: [1, on]\nb: &x {c: 010}\nb: !t 'x'\n"
    fast = faults(text)
    monkeypatch.setattr(policy_yaml, "_LOADER", yaml.SafeLoader)
    assert faults(text) == fast
    assert len(fast) == 5


@pytest.mark.parametrize(
    ("text", "fault"),
    [
        ("", "1:1: an empty file; expected a policy"),
        ("# nothing\n", "2:1: an empty file; expected a policy"),
        ("a: 1\n---\nb: 2\n", "2:1: a second document; expected one policy a file"),
        ("a: &x 1\n", "1:4: an anchor, &x; expected the value itself"),
        ("a: *x\n", "1:4: an alias, *x; expected the value itself"),
        (
            "a: !!python/object:os.system x\n",
            "1:4: a tag, 'tag:yaml.org,2002:python/object:os.system'; expected the value alone",
        ),
        ("a: !!int 3\n", "1:4: a tag, 'tag:yaml.org,2002:int'; expected the value alone"),
        ("a: {<<: {b: 1}}\n", "1:5: a merge key, <<; expected the keys themselves"),
        ("a: 1\nb: 2\na: 3\n", "3:1: the key 'a' again; it stands in line 1 already"),
        ("on: 1\n", "1:1: 'on', a word that YAML 1.1 takes for true or false; write true or false, or quote it"),
        ("1: 1\n", "1:1: 1 as a key; expected a name"),
        ("? [a]\n: 1\n", "1:3: a list as a key; expected a name"),
        ("a:\tb\n", "1:3: a tab; expected blanks"),
        ("a: b\n\tc: d\n", "2:1: a tab; expected blanks"),
        ("a: b\x07\n", "1:5: a control character, U+0007; expected printable text"),
        ("a: b\u202ec\n", "1:5: a control character, U+202E; expected printable text"),
        ("a: b\rc\n", "1:5: a control character, U+000D; expected printable text"),
        ("a: \udcff\n", "1:4: a byte that is not UTF-8; expected UTF-8 text"),
        ("a: 0x3\n", "1:4: '0x3', a hexadecimal number or mask; write it in decimal, or quote it"),
        ("\ufeffa: 1\n", "1:1: a control character, U+FEFF; expected printable text"),
    ],
)
def test_one_line_says_what_was_found_and_what_was_expected(text: str, fault: str) -> None:
    assert faults(text) == [f"p.yaml:{fault}"]


def test_all_faults_are_told_and_not_the_first_alone() -> None:
    assert [fault.split(":")[1] for fault in faults("a: on\nb: &x 1\nb: 010\nc: [yes, 1:30]\n")] == [
        "1",
        "2",
        "3",
        "3",
        "4",
        "4",
    ]


def test_a_syntax_error_has_its_place() -> None:
    (fault,) = faults("a: 1\nb: [1, 2\nc: 3\n")
    assert fault.startswith("p.yaml:3:")
    assert "no valid YAML" in fault
    assert "\n" not in fault


def test_lines_may_end_as_on_windows() -> None:
    assert read("p.yaml", "a: 1\r\nb: 2\r\n").value == {"a": 1, "b": 2}


def test_size_depth_and_number_of_values_are_bounded() -> None:
    assert "too large" in faults("# " + "é" * (32 * 1024))[0]
    assert "nested too deep" in faults("[" * (MAX_DEPTH + 1) + "]" * (MAX_DEPTH + 1))[0]
    assert faults("[" * MAX_DEPTH + "]" * MAX_DEPTH) == []
    assert "too many values" in faults("- 1\n" * MAX_NODES)[0]
    assert faults("- 1\n" * (MAX_NODES - 1)) == []


def test_thirty_thousand_brackets_are_one_error() -> None:
    assert len(faults("[" * 30_000)) == 1


@given(st.text(alphabet=st.sampled_from("ab01:-[]{},&*!?|>\"%@#'\n <="), max_size=60))
def test_any_text_gives_a_value_or_faults(text: str) -> None:
    document = read("p.yaml", text)
    assert document.faults or document.value is not None or text
    assert all("\n" not in str(fault) and fault.line >= 1 and fault.column >= 1 for fault in document.faults)
