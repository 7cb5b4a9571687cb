"""Amounts as Kubernetes writes them."""

import pytest

from dovetail.kubernetes_client.quantity import BadQuantity, milli, nanos, units


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("1", 1000),
        ("500m", 500),
        ("1.5", 1500),
        (".5", 500),
        ("100u", 1),
        ("1e1", 10_000),
        ("2E-1", 200),
        ("-1", -1000),
        ("1k", 1_000_000),
    ],
)
def test_millicores_are_rounded_up(text: str, expected: int) -> None:
    assert milli(nanos(text)) == expected


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("64Mi", 64 * 2**20),
        ("1.5Gi", 3 * 2**29),
        ("2e9", 2 * 10**9),
        ("128974848000m", 128_974_848),
        ("1n", 1),
        ("1Ei", 2**60),
        ("0", 0),
    ],
)
def test_bytes_are_exact_or_rounded_up(text: str, expected: int) -> None:
    assert units(nanos(text)) == expected


@pytest.mark.parametrize("text", ["", "m", "1 Gi", "1KiB", "1e", "0x1", "1e99", "٣"])
def test_what_is_no_quantity_is_refused_with_an_example(text: str) -> None:
    with pytest.raises(BadQuantity):
        nanos(text)
