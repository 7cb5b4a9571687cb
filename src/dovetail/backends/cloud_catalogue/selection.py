"""Which of a cloud's machines are wanted: settings that all clouds share."""

from enum import StrEnum
from fnmatch import fnmatchcase
from typing import Annotated

from pydantic import Field

from dovetail.model.text.quantity import Duration
from dovetail.model.text.strict import Strict

#: A region or a zone: it becomes a part of node names.
Location = Annotated[str, Field(pattern=r"^[a-z0-9]([a-z0-9-]{0,40}[a-z0-9])?$")]
TypePattern = Annotated[str, Field(pattern=r"^[A-Za-z0-9._*?\[\]!-]{1,100}$")]


class SpotUse(StrEnum):
    NEVER = "never"
    ALLOWED = "allowed"
    ONLY = "only"


class CloudSelection(Strict):
    regions: Annotated[list[Location], Field(min_length=1, max_length=50)]
    """Regions in which machines may be launched."""
    zones: Annotated[list[Location], Field(max_length=200)] = []
    """Only these zones; empty: all zones of the regions."""
    types: Annotated[list[TypePattern], Field(min_length=1, max_length=200)] = ["*"]
    """Types of machines, by name or pattern, such as `m7i.*`. All that match are offered in every zone, each as a
    node."""
    spot: SpotUse = SpotUse.NEVER
    """Whether machines may be launched that the cloud can take back: `never`, `allowed` (both sorts are offered) or
    `only`."""
    max_price: Annotated[float, Field(gt=0, le=1e6, allow_inf_nan=False)] | None = None
    """The highest price of a machine, in USD an hour. Dearer ones are not offered."""
    start_up: Annotated[Duration, Field(ge=0, le=86_400)] = 90.0
    """How long a machine takes from its launch until it runs work: an estimate, which the choice of a place uses."""

    def wants_type(self, name: str) -> bool:
        return any(fnmatchcase(name, pattern) for pattern in self.types)

    def wants_zone(self, zone: str) -> bool:
        return not self.zones or zone in self.zones

    def ways(self) -> tuple[bool, ...]:
        """Whether to offer machines on demand (False), as spot (True), or both."""
        return {SpotUse.NEVER: (False,), SpotUse.ALLOWED: (False, True), SpotUse.ONLY: (True,)}[self.spot]

    def affords(self, price_usd_h: float) -> bool:
        return self.max_price is None or price_usd_h <= self.max_price
