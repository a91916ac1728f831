from __future__ import annotations

from dataclasses import replace

from tests import make_hypervisor as make
from tests.diagnose.hypervisors import still, tapped
from tests.diagnose.views import clear, finding, plain_nic, unjudged, value
from tests.make import nic_rate
from tuneagent.diagnose import receive_drops
from tuneagent.diagnose.tap_drops import judge
from tuneagent.model.finding import Finding, Severity
from tuneagent.model.nic import Link
from tuneagent.model.view import View


def stray(**changes: object) -> View:
    """A tap of nobody known."""
    tap = make.tap(name="vnet7", **changes)
    host = make.hypervisor_view(stray_taps=(make.tap_rate(tap=tap, interface=None, to_guest_drops_per_sec=30.0),))
    return make.host_view(hypervisor=replace(host, domains=()))


def test_a_guests_loss_that_it_does_not_see() -> None:
    found = finding(judge, make.host_view(tapped(to_guest_drops_per_sec=2_000.0)))
    assert (found.subject, found.severity) == ("domain web1 vnet0", Severity.CRITICAL)
    assert "4.76 % of those for it" in found.explanation
    assert value(found, "to_guest_packets_per_sec") == 40_000.0
    assert finding(judge, make.host_view(tapped(to_guest_drops_per_sec=4.0))).severity is Severity.WARNING


def test_what_the_host_does_not_take_from_the_guest() -> None:
    found = finding(judge, make.host_view(tapped(from_guest_drops_per_sec=50.0, to_guest_drops_per_sec=2.0)))
    assert found.title == "50 packets/s from the guest behind vnet0 are lost"


def test_a_guest_that_takes_nothing_is_no_full_ring() -> None:
    found = finding(judge, make.host_view(tapped(to_guest_packets_per_sec=0.0, to_guest_drops_per_sec=60.0)))
    assert (found.severity, "takes no packets" in found.title) == (Severity.INFO, True)


def test_a_tap_of_nobody_known_is_called_by_its_name() -> None:
    assert finding(judge, stray()).subject == "vnet7"


def test_one_sample_is_history() -> None:
    view = still(stray(tx_packets=900_000, tx_dropped=48_211))
    found, said = judge(view)
    assert isinstance(found, Finding)
    assert (found.subject, found.severity) == ("vnet7", Severity.INFO)
    assert found.title == "vnet7 has lost 48,211 of 948,211 packets for its guest since it was made"
    assert (said.subject, getattr(said, "reason", None)) == ("machine", "one sample")
    assert unjudged(judge, still(stray(tx_packets=900_000, tx_dropped=30))).reason == "one sample"
    assert unjudged(judge, still(stray(tx_dropped=None))).reason == "one sample"


def test_a_macvtap_is_not_mirrored() -> None:
    direct = make.domain_interface(type="direct")
    tap = make.tap(tx_packets=900, tx_dropped=800, rx_packets=7_000, rx_dropped=70)
    view = still(make.host_view(make.domain_view(taps=(make.tap_rate(tap=tap, interface=direct),))))
    found = judge(view)[0]
    assert isinstance(found, Finding)
    assert "70 of 7,070 packets" in found.title


def test_a_macvtap_of_nobody_known_is_not_mirrored_either() -> None:
    tap = make.tap(name="uplink0", multi_queue=None, tx_packets=900, tx_dropped=800, rx_packets=7_000, rx_dropped=70)
    host = make.hypervisor_view(stray_taps=(make.tap_rate(tap=tap, interface=None),))
    found = judge(still(make.host_view(hypervisor=replace(host, domains=()))))[0]
    assert isinstance(found, Finding)
    assert "70 of 7,070 packets" in found.title


def test_well_and_unknown() -> None:
    assert value(clear(judge, make.host_view(tapped(to_guest_drops_per_sec=0.4))), "to_guest_drops") == 30
    unjudged(judge, make.host_view(tapped(to_guest_drops_per_sec=None, from_guest_drops_per_sec=None)))
    assert judge(make.host_view(make.domain_view(taps=()))) == ()


def test_nobody_else_tells_of_these_taps() -> None:
    nics = tuple(plain_nic(name, link=Link(kind="tun")) for name in ("vnet0", "vnet9"))
    rates = {nic.name: nic_rate(1, name=nic.name, tx_drops_per_sec=482.0) for nic in nics}
    view = make.host_view(after=make.host(nics=nics), nics=rates)
    told = [one.subject for one in receive_drops.judge(view) if isinstance(one, Finding)]
    assert told == ["vnet9"]
