"""Whether libvirt's Python module, and the library that it needs, are here."""

from __future__ import annotations

import pytest

from tuneagent.machine.libvirt_connection import bindings
from tuneagent.model.errors import SourceError


def _installed() -> bool:
    try:
        bindings()
    except SourceError:
        return False
    return True


needs_libvirt = pytest.mark.skipif(not _installed(), reason="libvirt-python is not installed")
