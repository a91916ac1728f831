"""The captured source ``links``: RTM_GETLINK's answers (Documentation/netlink/specs/rt_link.yaml).

``[{"ifindex": 2, "name": "eth0", "kind": null, "qdisc": "mq", "tx_queues": 4, "rx_queues": 4}]``
"""

from __future__ import annotations

from typing import Any

from tuneagent.model.errors import ParseError
from tuneagent.model.nic import Link
from tuneagent.parse.json_values import array, mapping, natural, optional_natural, optional_string, string
from tuneagent.parse.lines import U32_MAX, shown


def parse(value: Any) -> dict[str, Link]:
    """Links by interface name. ParseError with the JSON path of the first value that is not as described."""
    links: dict[str, Link] = {}
    for index, element in enumerate(array(value, "$")):
        where = f"$[{index}]"
        fields = mapping(element, where)
        name = string(fields.get("name"), f"{where}.name")
        if name in links:
            raise ParseError(f"{where}.name: {shown(name)} occurs twice")
        natural(fields.get("ifindex"), f"{where}.ifindex", U32_MAX)
        links[name] = Link(
            kind=optional_string(fields, "kind", where),
            qdisc=optional_string(fields, "qdisc", where),
            tx_queue_count=optional_natural(fields, "tx_queues", where, U32_MAX),
            rx_queue_count=optional_natural(fields, "rx_queues", where, U32_MAX),
        )
    return links
