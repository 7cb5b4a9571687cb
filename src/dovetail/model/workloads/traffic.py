"""Declared traffic between workloads, which relates them before anything was measured."""

from typing import Annotated

from pydantic import BeforeValidator, Field

from dovetail.model.text.quantity import MAX_MBPS, parse_bandwidth_mbps
from dovetail.model.text.strict import Name, Strict, shown


def _as_mbps(value: object) -> int:
    """A plain number is in Mbps, as the field name says; a unit overrides that."""
    if isinstance(value, str) and not value.strip().replace(".", "", 1).isdigit():
        return parse_bandwidth_mbps(value)
    if isinstance(value, bool) or not isinstance(value, int | float | str):
        raise ValueError(f"{shown(value)} is not a rate; write megabits a second (4000) or a bandwidth such as 4Gbps")
    number = float(value)
    if not 0.5 <= number <= MAX_MBPS:
        raise ValueError(f"{shown(value)} is not between 1 and {MAX_MBPS:.0f} megabits a second")
    return round(number)


class Traffic(Strict):
    """The total traffic with another workload of the same namespace, both directions together."""

    to: Name
    mbps: Annotated[int, BeforeValidator(_as_mbps), Field(ge=1)]
