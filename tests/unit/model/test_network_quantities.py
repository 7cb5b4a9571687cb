"""Bandwidths and latencies as people type them, and hostlists."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from dovetail.model.text.hostlist import expanded
from dovetail.model.text.quantity import format_bandwidth, format_latency, parse_bandwidth_mbps, parse_latency_ns


@pytest.mark.parametrize(
    ("text", "mbps"),
    [("400Gbps", 400_000), ("400 gbps", 400_000), ("50GBps", 400_000), ("10 MB/s", 80), ("1.5 Gbit/s", 1500)],
)
def test_bandwidth_is_read_with_the_units_people_type(text: str, mbps: int) -> None:
    assert parse_bandwidth_mbps(text) == mbps


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ("400", "has no unit"),
        (400, "has no unit"),
        ("4Gb", "unknown unit 'Gb'"),
        ("-1Gbps", "negative"),
        ("1kbps", "below the smallest bandwidth, 1Mbps"),
        ("9999Tbps", "too large"),
    ],
)
def test_what_is_no_bandwidth_is_refused_with_what_would_be_one(text: object, words: str) -> None:
    with pytest.raises(ValueError, match=words):
        parse_bandwidth_mbps(text)


@given(st.integers(0, 10**9))
def test_writing_a_bandwidth_and_reading_it_gives_the_same(mbps: int) -> None:
    assert parse_bandwidth_mbps(format_bandwidth(mbps)) == mbps


@given(st.integers(0, 10**10))
def test_writing_a_latency_and_reading_it_gives_the_same(latency_ns: int) -> None:
    assert parse_latency_ns(format_latency(latency_ns)) == latency_ns


def test_a_latency_needs_a_unit_and_knows_micro() -> None:
    assert parse_latency_ns("1.5µs") == 1500
    with pytest.raises(ValueError, match="has no unit"):
        parse_latency_ns("3")
    with pytest.raises(ValueError, match="unknown unit 'h'"):
        parse_latency_ns("3h")


def test_a_hostlist_keeps_its_zeros_and_its_order() -> None:
    assert expanded("node[008-010,2],login1") == ["node008", "node009", "node010", "node2", "login1"]
    assert expanded("r[1-2]n[1-2]") == ["r1n1", "r1n2", "r2n1", "r2n2"]


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ("node[1-", "is not a hostlist"),
        ("n1,,n2", "missing between commas"),
        ("n[5-3]", "counts down"),
        ("n[a-b]", "in brackets"),
        ("n[0-999999999]", "more than 1,000,000 names"),
        ("n[0-9999]m[0-9999]", "more than 1,000,000 names"),
    ],
)
def test_what_is_no_hostlist_is_refused_in_a_sentence(text: str, words: str) -> None:
    with pytest.raises(ValueError, match=words):
        expanded(text)
