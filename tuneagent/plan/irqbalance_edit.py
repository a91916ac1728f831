"""Shell lines that add options to one line of irqbalance's environment file, and take just these away again."""

from __future__ import annotations

import re
import shlex
from dataclasses import dataclass

_BLANKS = "[[:blank:]]*"
_BARE = """[^"'[:blank:]]([^"']*[^"'[:blank:]])?"""


@dataclass(frozen=True, slots=True)
class Edit:
    """``words`` into the value of ``key``, which ``old`` sets, a plain line of the file; None where no line does.

    Both lines look at what the file holds by then, so that those of two NICs can be pasted one after the other and
    undone in either order; when the last is undone the file is what it was, byte for byte. ``do`` fails without a
    change where the line is no longer of the kind that it was made for.
    """

    path: str
    key: str
    old: str | None
    words: str

    @property
    def line(self) -> str:
        """What the line will be."""
        if self.old is None:
            return f'{self.key}="{self.words}"'
        value, tail = self._value
        return f"{self.key}={self._quote}{' '.join(filter(None, (value, self.words)))}{self._quote}{tail}"

    @property
    def do(self) -> str:
        """Adds the words."""
        target, quote, head = shlex.quote(self.path), self._quote, f"{self.key}={self._quote}"
        quoted = f"{quote}[^{quote}]*{quote}"
        guard = f"^{self.key}=({quoted}|({_BARE})?){_BLANKS}$" if self._is_bare else f"^{self.key}={quoted}{_BLANKS}$"
        fill = f"s/^({head})({quote}{_BLANKS})$/\\1{self.words}\\2/"
        put = f"s/^({head}[^{quote}]*)({quote}{_BLANKS})$/\\1 {self.words}\\2/"
        # `t a` forgets that quotes were put, else the next `t` would skip the rest.
        wrap = (f's/^({self.key}=)({_BARE})?{_BLANKS}$/\\1"\\2"/', "t a", ":a") if self._is_bare else ()
        create = f"grep -q {shlex.quote(f'^{self.key}=')} {target} || printf '%s\\n' '{self.key}=\"\"' >> {target} && "
        start = create if self.old is None else ""
        return f"{start}grep -qE {shlex.quote(guard)} {target} && {_sed(target, *wrap, fill, 't', put)}"

    @property
    def undo(self) -> str:
        """Takes the words away, and then the line, or its quotes, if they came with them."""
        quote, head = self._quote, f"{self.key}={self._quote}"
        first = f"s/^({head}){self.words}( |({quote}{_BLANKS})$)/\\1\\3/"
        later = f"s/^({head}[^{quote}]*) {self.words}( |{quote}{_BLANKS}$)/\\1\\2/"
        return _sed(shlex.quote(self.path), first, later, *self._restored)

    @property
    def _restored(self) -> tuple[str, ...]:
        if self.old is None:
            return (f'/^{self.key}=""$/d',)
        if not self._is_bare:
            return ()
        quoted = f'{self.key}="{self._value[0]}"'
        return (f"s/^{_escape(quoted)}$/{_escape(self.old)}/",)

    @property
    def _is_bare(self) -> bool:
        return self.old is not None and self.old.removeprefix(f"{self.key}=")[:1] not in {'"', "'"}

    @property
    def _quote(self) -> str:
        """Several words need quotes in a shell's file, so a bare value gets some."""
        return "'" if self.old is not None and self.old.startswith(f"{self.key}='") else '"'

    @property
    def _value(self) -> tuple[str, str]:
        """The value within its quotes, and the blanks behind it; those behind a bare value go."""
        text = (self.old or "").removeprefix(f"{self.key}=")
        if self._is_bare:
            return text.rstrip(), ""
        value, _, tail = text[1:].partition(self._quote)
        return value, tail


def _sed(target: str, *commands: str) -> str:
    return f"sed -E -i {' '.join(f'-e {shlex.quote(command)}' for command in commands)} {target}"


def _escape(text: str) -> str:
    return re.sub(r"([.\[\]*/^$+?(){}|\\&])", r"\\\1", text)
