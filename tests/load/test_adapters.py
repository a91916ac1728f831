"""Command lines and output of other programs.

The long texts are what sockperf 3.7 and iperf 3.12 printed; netperf's and neper's follow their sources
(nettest_omni.c, histo.c, rr.c). Every number differs from every other.
"""

from __future__ import annotations

import json
import os
import shutil
import subprocess
import time
from collections.abc import Iterator
from contextlib import AbstractContextManager, contextmanager
from pathlib import Path
from typing import Any

import pytest

from tests.load import ports
from tuneagent.load import adapter, command, iperf3, loads, neper, netperf, sockperf
from tuneagent.load.errors import LoadError
from tuneagent.load.hooks import Hooks
from tuneagent.load.program import Output
from tuneagent.model.histogram import mean_ns, percentile_ns
from tuneagent.model.load import LoadKind, LoadResult, LoadSpec

SOCKPERF = """\
sockperf: \x1b[2;35m== version #3.7-no.git == \x1b[0m
sockperf[CLIENT] send on:sockperf: using recvfrom() to block on socket(s)

[ 0] IP = 127.0.0.1       PORT = 12999 # TCP
sockperf: Warmup stage (sending a few dummy messages)...
sockperf: Starting test...
sockperf: Test end (interrupted by timer)
sockperf: Test ended
sockperf: [Total Run] RunTime=1.000 sec; Warm up time=400 msec; SentMessages=96201; ReceivedMessages=96200
sockperf: ========= Printing statistics for Server No: 0
sockperf: [Valid Duration] RunTime=0.550 sec; SentMessages=54865; ReceivedMessages=54863
sockperf: \x1b[2;35m====> avg-rtt=9.973 (std-dev=42.925)\x1b[0m
sockperf: # dropped messages = 2; # duplicated messages = 3; # out-of-order messages = 4
sockperf: Summary: Round trip is 9.973 usec
sockperf: \x1b[2;35mTotal 54863 observations\x1b[0m; each percentile contains 548.63 observations
sockperf: ---> <MAX> observation = 3829.013
sockperf: ---> percentile 99.999 = 2515.930
sockperf: ---> percentile 99.990 = 1820.164
sockperf: ---> percentile 99.900 =  540.654
sockperf: ---> percentile 99.000 =   48.811
sockperf: ---> percentile 90.000 =    8.561
sockperf: ---> percentile 75.000 =    6.954
sockperf: ---> percentile 50.000 =    6.762
sockperf: ---> percentile 25.000 =    6.638
sockperf: ---> <MIN> observation =    6.315
"""
SOCKPERF_REFUSED = """\
sockperf: \x1b[2;35m== version #3.7-no.git == \x1b[0m
sockperf: ERROR: Can`t connect socket (errno=111 Connection refused)
"""
SOCKPERF_ALONE = "sockperf: Test ended\nsockperf: No messages were received from the server. Is the server down?\n"
NETPERF = """\
THROUGHPUT=23456.78
THROUGHPUT_UNITS=Trans/s
ELAPSED_TIME=6.01
MIN_LATENCY=21
MEAN_LATENCY=42.43
P50_LATENCY=39
P90_LATENCY=55
P99_LATENCY=81
MAX_LATENCY=4567
"""
NETPERF_REFUSED = "establish control: are you sure there is a netserver listening on 192.0.2.1 at port 12865?\n"
NEPER = """\
total_run_time=10
percentiles=50,90,99
request_size=1
invalid_secret_count=0
time_start=1306173.666348235
num_transactions=329605
latency_min=0.000015123
latency_max=0.008010456
latency_mean=0.000030222
latency_stddev=0.000086333
latency_p50=0.000026119
latency_p90=0.000032447
latency_p99=0.000068999
time_end=1306183.666374314
correlation_coefficient=1.00
throughput=33009.84
"""
IPERF3: dict[str, Any] = {
    "start": {"version": "iperf 3.12"},
    "intervals": [],
    "end": {
        "streams": [],
        "sum_sent": {"start": 0, "end": 2.5, "seconds": 2.5, "bytes": 1772093440, "bits_per_second": 14176251351.202707,
                     "retransmits": 7, "sender": True},
        "sum_received": {"start": 0, "end": 2.51, "seconds": 2.51, "bytes": 1763704832,
                         "bits_per_second": 14090025340.72571, "sender": True},
        "cpu_utilization_percent": {"host_total": 11.6, "host_user": 0.4, "remote_total": 25.7, "remote_user": 0.5},
    },
}  # fmt: skip
IPERF3_UDP: dict[str, Any] = {
    "end": {
        "sum": {"seconds": 1.000268, "bits_per_second": 10222971.95, "lost_packets": 3, "packets": 39, "sender": True},
        "sum_sent": {"seconds": 1.000063, "bits_per_second": 10222971.96, "lost_packets": 0, "packets": 40},
        "sum_received": {"seconds": 1.000268, "bits_per_second": 10220876.8, "lost_packets": 3, "packets": 39},
    }
}
ONE = LoadSpec(LoadKind.TCP_RR, "192.0.2.1")


def test_sockperf_tells_transactions_and_round_trips() -> None:
    result = sockperf.parse(SOCKPERF)

    assert (result.seconds, result.transactions, result.lost) == (0.55, 54863, 2)
    assert result.latency is not None
    assert (result.latency.total, result.latency.min_ns, result.latency.max_ns) == (54863, 6315, 3_829_013)
    assert mean_ns(result.latency) == pytest.approx(9973)
    for percent, ns in [(25, 6638), (50, 6762), (75, 6954), (90, 8561), (99, 48811), (99.9, 540654), (99.99, 1820164)]:
        assert percentile_ns(result.latency, percent) == pytest.approx(ns, rel=0.005)


@pytest.mark.parametrize(
    ("text", "said"),
    [
        (SOCKPERF_REFUSED, "sockperf: ERROR: Can`t connect socket"),
        (SOCKPERF_ALONE, "No messages were received"),
        ("", "no .Valid Duration."),
        (SOCKPERF.replace("RunTime=0.550", "RunTime=0.000"), "0 s"),
        (SOCKPERF.replace("RunTime=0.550", "RunTime=1.2.3"), r"a RunTime of 1\.2\.3 s"),
        (SOCKPERF.replace("RunTime=0.550", "RunTime=..."), r"a RunTime of \.\.\. s"),
        (SOCKPERF.replace("RunTime=0.550", "RunTime=864001"), "a RunTime of 864001 s"),
        (SOCKPERF.replace("54863", "9" * 5000), "no .Valid Duration."),
        (
            SOCKPERF + "IP = 1 sockperf: ERROR: A connection was forcibly closed by a peer (errno=0 Success)",
            "forcibly closed",
        ),
    ],
)
def test_sockperf_that_measured_nothing_is_one_clear_line(text: str, said: str) -> None:
    with pytest.raises(LoadError, match=said):
        sockperf.parse(text)


def test_netperf_tells_transactions_and_latencies() -> None:
    result = netperf.parse(NETPERF)

    assert (result.seconds, result.transactions) == (6.01, 140975)
    assert result.latency is not None
    assert (result.latency.min_ns, result.latency.max_ns) == (21_000, 4_567_000)
    for percent, ns in [(50, 39000), (90, 55000), (99, 81000)]:
        assert percentile_ns(result.latency, percent) == pytest.approx(ns, rel=0.005)


def test_netperf_without_latencies_has_none() -> None:
    assert netperf.parse("THROUGHPUT=5\nELAPSED_TIME=2.0\n").latency is None


@pytest.mark.parametrize(
    ("text", "said"),
    [
        (NETPERF_REFUSED, "are you sure there is a netserver"),
        ("", "it said nothing"),
        (NETPERF.replace("Trans/s", "10^6bits/s"), "not transactions"),
        (NETPERF.replace("23456.78", "nan"), "no THROUGHPUT"),
        (NETPERF.replace("6.01", "0.00"), "no THROUGHPUT"),
        (NETPERF.replace("6.01", "864001"), "no THROUGHPUT"),
        (NETPERF.replace("23456.78", "1e300"), "no THROUGHPUT"),
    ],
)
def test_netperf_that_measured_nothing_is_one_clear_line(text: str, said: str) -> None:
    with pytest.raises(LoadError, match=said):
        netperf.parse(text)


def test_neper_tells_transactions_and_latencies_in_seconds() -> None:
    result = neper.parse(NEPER)

    assert result.transactions == 329605
    assert result.per_sec == pytest.approx(33009.84)
    assert result.latency is not None
    assert (result.latency.min_ns, result.latency.max_ns) == (15123, 8_010_456)
    assert mean_ns(result.latency) == pytest.approx(30222, rel=1e-4)
    for percent, ns in [(50, 26119), (90, 32447), (99, 68999)]:
        assert percentile_ns(result.latency, percent) == pytest.approx(ns, rel=0.005)


@pytest.mark.parametrize("name", ["MEAN_LATENCY=42.43", "P99_LATENCY=81"])
def test_netperf_s_latency_that_nothing_can_have_is_left_out(name: str) -> None:
    result = netperf.parse(NETPERF.replace(name, f"{name.partition('=')[0]}=1e308"))

    assert result.transactions == 140975
    assert result.latency is None or result.latency.max_ns == 4_567_000


@pytest.mark.parametrize(
    "text",
    [
        "",
        NEPER.replace("throughput=33009.84", ""),
        NEPER.replace("33009.84", "0.00"),
        NEPER.replace("33009.84", "1e-300"),
        NEPER.replace("329605", "1e300"),
    ],
)
def test_neper_that_measured_nothing_is_one_clear_line(text: str) -> None:
    with pytest.raises(LoadError, match="no throughput"):
        neper.parse(text)


def test_iperf3_tells_what_arrived_and_both_sides_cpu() -> None:
    result = iperf3.parse(json.dumps(IPERF3))

    assert (result.seconds, result.transactions, result.value, result.unit) == (2.51, None, 14090025340.72571, "bit/s")
    assert result.per_sec == result.value
    assert result.client_cpu_s == pytest.approx(0.116 * 2.51)
    assert result.server_cpu_s == pytest.approx(0.257 * 2.51)
    assert result.notes == ("iperf3 counted 7 retransmits",)


def test_iperf3_tells_lost_datagrams() -> None:
    result = iperf3.parse(json.dumps(IPERF3_UDP))

    assert (result.value, result.lost, result.client_cpu_s) == (10220876.8, 3, None)


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ('{"end": {}, "error": "unable to connect to server: Connection refused"}', "unable to connect"),
        ("", "it said nothing"),
        ("iperf3: unrecognized option", "unrecognized option"),
        ("[]", "no object"),
        ('{"end": []}', "no bits per second"),
        ('{"end": {"sum_received": {"bits_per_second": "7", "seconds": 3}}}', "no bits per second"),
        ('{"end": {"sum_received": {"bits_per_second": NaN, "seconds": 3}}}', "no bits per second"),
        ('{"end": {"sum_received": {"bits_per_second": true, "seconds": 3}}}', "no bits per second"),
        ('{"end": {"sum_received": {"bits_per_second": 1' + "0" * 400 + ', "seconds": 3}}}', "no bits per second"),
        ('{"end": {"sum_received": {"bits_per_second": 7, "seconds": 1e308}}}', "no bits per second"),
        ('{"end": {"sum_received": {"bits_per_second": 1e308, "seconds": 3}}}', "no bits per second"),
        ("[" * 100_000, "no JSON"),
    ],
    ids=range(12),
)
def test_iperf3_that_measured_nothing_is_one_clear_line(text: str, said: str) -> None:
    with pytest.raises(LoadError, match=said):
        iperf3.parse(text)


def test_iperf3_s_numbers_that_nothing_can_come_to_are_left_out() -> None:
    end = IPERF3["end"]
    end = {
        **end,
        "cpu_utilization_percent": {"host_total": 1e308, "remote_total": 1e7},
        "sum_received": {**end["sum_received"], "lost_packets": 1e308},
        "sum_sent": {**end["sum_sent"], "retransmits": 1e308},
    }
    result = iperf3.parse(json.dumps({"end": end}))

    assert (result.seconds, result.lost, result.notes) == (2.51, 0, ())
    assert (result.client_cpu_s, result.server_cpu_s) == (None, None)


def test_a_program_that_ran_a_little_longer_than_the_longest_load_is_believed() -> None:
    total = {"sum_received": {"bits_per_second": 7, "seconds": 86_401}}

    assert iperf3.parse(json.dumps({"end": total})).seconds == 86_401


@pytest.mark.parametrize(
    ("text", "value"),
    [
        ("5\n", 5.0),
        ("warm-up 3\nrate: 12345.5 req/s\n\n", 12345.5),
        ("Requests/sec: 1,234,567.25", 1234567.25),
        ("p99 -3e-2", -0.03),
        ("1.2.3.4 took .5", 0.5),
        ("12.5 Gbit/s", 12.5),
        ("12.5Gbit/s", 12.5),
        ("rate=1,234.5req/s;", 1234.5),
        ("p99=7µs", 7.0),
        ("busy (95%).", 95.0),
    ],
)
def test_the_last_number_of_the_last_line_counts(text: str, value: float) -> None:
    assert command.parse(text) == value


NO_NUMBERS = ("", "\n \n", "12\nnone", "nan", "1e999", "1e9999", "9" * 100, "inf", "0x1F", "1,5", "1_000", "10-20")


@pytest.mark.parametrize("text", [*NO_NUMBERS, "1.2.3", "\x1b[2J", "5 \x1b[31m", "a1b2"])
def test_a_last_line_without_a_number_is_one_clear_line(text: str) -> None:
    with pytest.raises(LoadError, match="last line holds no number"):
        command.parse(text)


@pytest.mark.parametrize(
    ("made", "expected"),
    [
        (sockperf.command(LoadSpec(LoadKind.SOCKPERF, "192.0.2.1", request_bytes=3), 7),
         "sockperf ping-pong --tcp -i 192.0.2.1 -p 11111 -t 7 -m 14 --full-rtt"),
        (sockperf.command(LoadSpec(LoadKind.SOCKPERF, "192.0.2.1", 5, request_bytes=300,
                                   command=("--udp", "--tos", "8")),
                          7),
         "sockperf ping-pong -i 192.0.2.1 -p 5 -t 7 -m 300 --full-rtt --tos 8"),
        (netperf.command(LoadSpec(LoadKind.NETPERF, "192.0.2.1", request_bytes=3, response_bytes=4), 7),
         f"netperf -H 192.0.2.1 -p 12865 -t TCP_RR -l 7 -P 0 -j -- -r 3,4 -k {','.join(netperf.KEYS)}"),
        (netperf.command(LoadSpec(LoadKind.NETPERF, "192.0.2.1", 9, burst=4, command=("-t", "UDP_RR", "--", "-s", "1")),
                         7),
         f"netperf -H 192.0.2.1 -p 9 -t TCP_RR -l 7 -P 0 -j -t UDP_RR -- -r 1,1 -b 3 -k {','.join(netperf.KEYS)} -s 1"),
        (neper.command(LoadSpec(LoadKind.NEPER, "192.0.2.1", connections=6, processes=2, request_bytes=3), 7),
         "tcp_rr -c -H 192.0.2.1 -P 12867 -F 6 -T 2 -Q 3 -R 1 -l 7 -p 50,90,99"),
        (neper.command(LoadSpec(LoadKind.NEPER, "192.0.2.1", 9, command=("udp_rr", "-6")), 7),
         "udp_rr -c -H 192.0.2.1 -P 9 -F 1 -T 1 -Q 1 -R 1 -l 7 -p 50,90,99 -6"),
        (iperf3.command(LoadSpec(LoadKind.IPERF3, "2001:db8::1", 9, connections=3, command=("-R",)), 7),
         "iperf3 -c 2001:db8::1 -p 9 --connect-timeout 5000 -J -t 7 -P 3 -R"),
    ],
    ids=["sockperf", "sockperf-udp", "netperf", "netperf-udp", "neper", "neper-udp", "iperf3"],
)  # fmt: skip
def test_command_lines(made: tuple[str, ...], expected: str) -> None:
    assert list(made) == expected.split()


@pytest.mark.parametrize("kind", [LoadKind.SOCKPERF, LoadKind.NETPERF, LoadKind.NEPER, LoadKind.IPERF3])
@pytest.mark.parametrize("wishes", [{"rate_per_sec": 5.0}, {"think_us": 7}], ids=str)
def test_a_wish_that_cannot_be_passed_on_is_refused(kind: LoadKind, wishes: dict[str, Any]) -> None:
    with pytest.raises(LoadError, match="is not given a"):
        loads.run(LoadSpec(kind, "192.0.2.1", **wishes), 1)


def test_programs_of_one_connection_have_a_bound() -> None:
    with pytest.raises(LoadError, match="1000 connections"):
        loads.run(LoadSpec(LoadKind.SOCKPERF, "192.0.2.1", connections=1000), 1)


def test_a_server_has_an_address() -> None:
    with pytest.raises(LoadError, match="iperf3 needs the address"):
        loads.run(LoadSpec(LoadKind.IPERF3), 1)


@pytest.mark.parametrize("seconds", [0.0, float("nan"), 1e9])
def test_a_time_that_cannot_be_measured_is_refused(seconds: float) -> None:
    with pytest.raises(LoadError, match="a load runs for"):
        loads.run(LoadSpec(LoadKind.PASSIVE), seconds)


def test_rates_of_programs_add_up_over_the_same_seconds() -> None:
    halves = [sockperf.parse(SOCKPERF), sockperf.parse(SOCKPERF.replace("RunTime=0.550", "RunTime=0.500"))]
    outputs = [program_output(0.5, 0), program_output(0.3, 1)]

    both = adapter.together(halves, outputs)

    assert both.per_sec == pytest.approx(54863 / 0.55 + 54863 / 0.5, rel=1e-4)
    assert both.latency is not None
    assert (both.latency.total, both.lost, both.client_cpus) == (2 * 54863, 4, (0, 1))
    assert both.client_cpu_s == pytest.approx(0.5 * 0.55 / 2 + 0.3 * 0.5 / 2)


def program_output(cpu_s: float, cpu: int) -> Output:
    return Output("", "", 0, cpu_s, frozenset({cpu}), 2.0)


def test_a_command_is_run_and_its_number_is_the_result() -> None:
    told: list[int] = []
    hooks = Hooks(lambda: told.append(1), lambda: told.append(2))
    spec = LoadSpec(LoadKind.COMMAND, command=("sh", "-c", "echo seconds $TUNEAGENT_SECONDS; echo got 17.5 x"))

    result = loads.run(spec, 0.2, hooks=hooks)

    assert (result.transactions, result.value, result.per_sec, result.unit) == (None, 17.5, 17.5, "")
    assert result.client_cpu_s is not None
    assert told == [1, 2]


@pytest.mark.parametrize(
    ("words", "said"),
    [
        ((), "no command"),
        (("sh", "-c", "echo 5; echo went wrong >&2; exit 7"), "sh ended with 7: went wrong"),
        (("sh", "-c", "kill -9 $$"), "sh ended with -9: it said nothing"),
        (("echo", "nothing"), "no number: nothing"),
    ],
)
def test_a_command_that_fails_is_one_clear_line(words: tuple[str, ...], said: str) -> None:
    with pytest.raises(LoadError, match=said):
        loads.run(LoadSpec(LoadKind.COMMAND, command=words), 0.2)


def test_without_a_load_the_time_passes_between_the_hooks() -> None:
    told: list[float] = []
    hooks = Hooks(lambda: told.append(time.monotonic()), lambda: told.append(time.monotonic()))

    result = loads.run(LoadSpec(LoadKind.PASSIVE), 0.2, warm_up_s=0.0, hooks=hooks)

    assert (result.transactions, result.value, result.per_sec) == (None, None, None)
    assert 0.2 <= result.seconds <= told[1] - told[0]


@contextmanager
def other_server(*words: str, instead: tuple[str, ...] = ()) -> Iterator[int]:
    """A server of another program, or what starts it, on a port that is free, which stands for ``PORT``."""
    if shutil.which(words[0]) is None:
        pytest.skip(f"{words[0]} is not installed")
    (port,) = ports.free(1)
    command_line = [word.replace("PORT", str(port)) for word in instead or words]
    process = subprocess.Popen(command_line, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL, env=os.environ)
    try:
        while process.poll() is None and not ports.listens(port):
            time.sleep(0.02)
        yield port
    finally:
        process.kill()
        process.wait()


def sockperf_server(scratch: Path) -> AbstractContextManager[int]:
    """One that serves several connections."""
    feed = f"echo T:127.0.0.1:PORT > {scratch}/feed; exec sockperf server -f {scratch}/feed -F epoll"
    return other_server("sockperf", "server", instead=("sh", "-c", feed))


def total(result: LoadResult) -> int:
    assert result.latency is not None
    return result.latency.total


@pytest.mark.parametrize("connections", [1, 2])
def test_sockperf_itself(connections: int, tmp_path: Path) -> None:
    with sockperf_server(tmp_path) as port:
        result = loads.run(LoadSpec(LoadKind.SOCKPERF, "127.0.0.1", port, connections), 0.5)

    assert result.transactions is not None
    assert result.transactions > 100
    assert total(result) > 100
    assert result.client_cpu_s


def test_sockperf_of_several_connections_says_what_its_server_needs() -> None:
    with (
        other_server("sockperf", "server", "--tcp", "-i", "127.0.0.1", "-p", "PORT") as port,
        pytest.raises(LoadError, match="needs -f FILE -F epoll"),
    ):
        loads.run(LoadSpec(LoadKind.SOCKPERF, "127.0.0.1", port, 3), 0.5)


def test_sockperf_without_a_server() -> None:
    with other_server("sockperf", "server", "--tcp", "-i", "127.0.0.1", "-p", "PORT") as port:
        pass
    with pytest.raises(LoadError, match="connect"):
        loads.run(LoadSpec(LoadKind.SOCKPERF, "127.0.0.1", port), 0.5)


@pytest.mark.parametrize(("words", "connections"), [((), 1), (("-R",), 3), (("-u", "-b", "5M"), 1)], ids=str)
def test_iperf3_itself(words: tuple[str, ...], connections: int) -> None:
    with other_server("iperf3", "-s", "-B", "127.0.0.1", "-p", "PORT") as port:
        result = loads.run(LoadSpec(LoadKind.IPERF3, "127.0.0.1", port, connections, command=words), 0.4)

    assert result.value is not None
    assert result.value > 1e5
    assert result.server_cpu_s is not None


def test_iperf3_without_a_server() -> None:
    with other_server("iperf3", "-s", "-B", "127.0.0.1", "-p", "PORT") as port:
        pass
    with pytest.raises(LoadError, match="unable to connect to server: Connection refused"):
        loads.run(LoadSpec(LoadKind.IPERF3, "127.0.0.1", port), 0.4)
