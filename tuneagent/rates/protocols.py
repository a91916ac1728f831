"""TCP and UDP counters against themselves."""

from __future__ import annotations

from tuneagent.model.counters import Protocols
from tuneagent.model.view import ProtocolRate
from tuneagent.rates.comparison import Comparison


def compare(both: Comparison) -> ProtocolRate | None:
    """None where either sample has no protocol counters."""
    before, after = both.before.protocols, both.after.protocols
    if before is None or after is None:
        return None
    seconds = both.between(before.read_at_ns, after.read_at_ns)

    def rate(protocol: str, name: str) -> float | None:
        counts = _counter(before, protocol, name), _counter(after, protocol, name)
        return both.rate(f"protocols.{protocol}.{name}", "/proc/net/snmp", counts, seconds)

    return ProtocolRate(
        tcp_in_segments_per_sec=rate("Tcp", "InSegs"),
        tcp_out_segments_per_sec=rate("Tcp", "OutSegs"),
        tcp_retransmits_per_sec=rate("Tcp", "RetransSegs"),
        udp_in_datagrams_per_sec=rate("Udp", "InDatagrams"),
        udp_out_datagrams_per_sec=rate("Udp", "OutDatagrams"),
        udp_receive_errors_per_sec=rate("Udp", "InErrors"),
    )


def _counter(protocols: Protocols | None, protocol: str, name: str) -> int | None:
    return None if protocols is None else protocols.counters.get(protocol, {}).get(name)
