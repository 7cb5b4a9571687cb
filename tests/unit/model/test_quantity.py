"""Quantities: every unit people type, exact round trips, and one clear line for everything else."""

import math
from collections.abc import Callable

import pytest
from hypothesis import given
from hypothesis import strategies as st

from dovetail.model.text.quantity import (
    MAX_BYTES,
    MAX_COUNT,
    MAX_DURATION_S,
    format_bytes,
    format_cores,
    format_duration,
    parse_bytes,
    parse_cores,
    parse_count,
    parse_duration_s,
    show_bytes,
)
from dovetail.model.text.strict import shown

PARSERS: list[Callable[[object], float]] = [parse_cores, parse_bytes, parse_duration_s, parse_count]


@pytest.mark.parametrize(
    ("typed", "cores"),
    [
        *((2, 2), ("2", 2), (0.5, 0.5), ("500m", 0.5), ("1.5", 1.5), (".25", 0.25), (" 2 ", 2), ("1e3", 1000), (0, 0)),
        *(("0", 0), ("-0", 0), (-0.0, 0), ("1m", 0.001), ("1500 m", 1.5), (1_000_000, 1_000_000), (0.1 + 0.2, 0.3)),
    ],
)
def test_cores_are_read_in_whole_thousandths(typed: object, cores: float) -> None:
    assert parse_cores(typed) == cores
    assert math.copysign(1, parse_cores(typed)) == 1


@pytest.mark.parametrize(
    ("typed", "amount"),
    [
        *((0, 0), (1048576, 1048576), ("1048576", 1048576), ("512MiB", 512 * 2**20), ("64GiB", 64 * 2**30)),
        *(("64Gi", 64 * 2**30), ("10GB", 10**10), ("10G", 10**10), ("10gb", 10**10), ("1.5KiB", 1536)),
        *(("1K", 1000), ("1k", 1000), ("7b", 7), ("8PiB", MAX_BYTES), ("1M", 10**6), ("0.1", 1), ("1 TiB", 2**40)),
    ],
)
def test_bytes_are_read_with_decimal_and_binary_units(typed: object, amount: int) -> None:
    assert parse_bytes(typed) == amount


@pytest.mark.parametrize("typed", ["8.3GB", "0.067GB", "0.54TB", "0.29TB"])
def test_decimal_fractions_of_bytes_are_exact(typed: str) -> None:
    assert parse_bytes(typed) % 10**6 == 0


@pytest.mark.parametrize(
    ("typed", "seconds"),
    [
        *((90, 90), ("90", 90), ("30s", 30), ("10m", 600), ("6h", 21600), ("1h30m", 5400), ("1h 30m", 5400)),
        *(("1w", 604800), ("1.5", 1.5), ("250ms", 0.25), ("1.5h", 5400), ("5000us", 0.005), ("0s", 0), ("10 m", 600)),
    ],
)
def test_durations_are_read_in_the_units_people_type(typed: object, seconds: float) -> None:
    assert parse_duration_s(typed) == seconds


@pytest.mark.parametrize(("typed", "count"), [(4, 4), ("4", 4), (4.0, 4), ("1e3", 1000), (0, 0), ("+3", 3)])
def test_counts_are_whole_numbers(typed: object, count: int) -> None:
    assert parse_count(typed) == count
    assert isinstance(parse_count(typed), int)


@given(st.integers(0, 10**9))
def test_formatted_cores_read_back_as_the_same_cores(millicores: int) -> None:
    assert parse_cores(format_cores(millicores / 1000)) == millicores / 1000


@given(st.one_of(st.integers(0, MAX_BYTES), st.integers(0, 2**13).map(lambda count: count * 2**40)))
def test_formatted_bytes_read_back_as_the_same_bytes(amount: int) -> None:
    assert parse_bytes(format_bytes(amount)) == amount


@given(st.integers(0, int(MAX_DURATION_S) * 1000))
def test_formatted_durations_read_back_as_the_same_duration(milliseconds: int) -> None:
    assert parse_duration_s(format_duration(milliseconds / 1000)) == milliseconds / 1000


@given(st.floats(0.0006, MAX_DURATION_S))
def test_any_accepted_duration_survives_formatting(seconds: float) -> None:
    read = parse_duration_s(seconds)
    assert parse_duration_s(format_duration(read)) == read


@given(st.floats(0.0006, 1e6))
def test_any_accepted_number_of_cores_survives_formatting(cores: float) -> None:
    read = parse_cores(cores)
    assert parse_cores(format_cores(read)) == read


@given(st.integers(0, MAX_COUNT))
def test_counts_read_back_as_the_same_count(count: int) -> None:
    assert parse_count(str(count)) == parse_count(count) == count


ODD = [
    *(True, False, None, [], {}, (), object(), b"5", 1j),
    *(float("nan"), float("inf"), float("-inf"), "nan", "inf", ".nan", ".inf", "1e999", "1e9999", "1e-9999", "NaN"),
    *(-1, "-1", -0.5, "-1m", "-5h", "-1GiB", 1e300, 10**400, -(10**400), 10**5000, "9" * 5000, "1" + "0" * 60),
    *("", " ", "\n", "five", "64GIGS", "1.2.3", "1,5", "0x10", "1_000", "--1", "1e", "e3", ".", "5 5", "1 0m", "m"),
    *("٣", "１２", "٣GB", "²", "½", "5µ", "\0", "5\0", "5m\n5", "${HOME}", "../../etc/passwd", "x" * 5_000_000),
    "1" + " " * 1_000_000 + "!",
]


@pytest.mark.parametrize("parse", PARSERS)
@pytest.mark.parametrize("typed", ODD, ids=shown)
def test_anything_odd_is_refused_in_one_short_line(parse: Callable[[object], float], typed: object) -> None:
    with pytest.raises(ValueError) as raised:
        parse(typed)
    assert type(raised.value) is ValueError
    assert len(str(raised.value)) < 250
    assert "\n" not in str(raised.value)


@pytest.mark.parametrize("parse", PARSERS)
@given(value=st.one_of(st.text(), st.floats(), st.integers(), st.from_regex(r"-?[0-9.]{1,5}e?[a-zA-Z]{0,3}")))
def test_a_parser_returns_a_finite_amount_or_raises_value_error(
    parse: Callable[[object], float], value: object
) -> None:
    try:
        read = parse(value)
    except ValueError:
        return
    assert math.isfinite(read)
    assert read >= 0


@pytest.mark.parametrize(
    ("parse", "typed", "words"),
    [
        (parse_bytes, "64GIGS", "unknown unit 'GIGS' in '64GIGS'; write bytes with a unit such as 512MiB, 64GiB, 10GB"),
        (parse_bytes, "5m", "'5m' would be thousandths of a byte; for megabytes write 5MB"),
        (parse_bytes, "9PiB", "'9PiB' is too large; the most is 8PiB"),
        (parse_bytes, MAX_BYTES + 1, "is too large; the most is 8PiB"),
        (parse_bytes, str(MAX_BYTES + 1), "is too large; the most is 8PiB"),
        (parse_cores, "2GHz", "unknown unit 'GHz' in '2GHz'; write a number of cores such as 2, 0.5 or 500m"),
        (parse_cores, "0.0001", "'0.0001' is below the smallest share, 1m"),
        (parse_cores, -1, "-1 is negative; write a number of cores"),
        (parse_cores, True, "true is not a quantity"),
        (parse_cores, [1], "a list is not a quantity"),
        (parse_count, 1.5, "1.5 is not whole; write a whole number such as 4"),
        (parse_count, "4x", "unknown unit 'x' in '4x'"),
        (parse_count, 10**13, "is too large; the most is 1000000000000"),
        (parse_count, 10**5000, "a number of more than 45 digits is too large"),
        (parse_duration_s, "-5m", "'-5m' is negative; write a duration such as 30s"),
        (parse_duration_s, "5min", "'5min' is not a duration; write a duration such as 30s"),
        (parse_duration_s, "1000w1000w1000w1000w1000w1000w", "is too large; the most is 100 years"),
        (parse_duration_s, "1us", "'1us' is below the shortest duration, 1ms"),
        (parse_duration_s, 1e-9, "1e-09 is below the shortest duration, 1ms"),
    ],
    ids=shown,
)
def test_an_error_says_what_was_wrong_and_what_is_accepted(
    parse: Callable[[object], float], typed: object, words: str
) -> None:
    with pytest.raises(ValueError) as raised:
        parse(typed)
    assert words in str(raised.value)


@pytest.mark.parametrize(("seconds", "text"), [(0, "0s"), (90, "1m30s"), (5400, "1h30m"), (1.5, "1s500ms")])
def test_durations_are_written_in_mixed_units(seconds: float, text: str) -> None:
    assert format_duration(seconds) == text


@pytest.mark.parametrize(("amount", "text"), [(0, "0B"), (512, "512B"), (2**30, "1GiB"), (33_500_000_123, "31.2GiB")])
def test_bytes_are_shown_to_people_in_three_figures(amount: int, text: str) -> None:
    assert show_bytes(amount) == text


@pytest.mark.parametrize("text", ["1TB", "32GB", "29.5GB", "1.5GiB", "64GiB", "500GB"])
def test_sizes_are_shown_as_they_were_written(text: str) -> None:
    assert show_bytes(parse_bytes(text)) == text


@pytest.mark.parametrize(
    ("amount", "text"),
    [(0, "0"), (1, "1"), (1536, "1536"), (1536 * 2**20, "1536MiB"), (10**12, "1TB"), (32 * 10**9, "32GB")],
)
def test_bytes_are_written_in_the_largest_exact_unit(amount: int, text: str) -> None:
    assert format_bytes(amount) == text
