"""What a workload prefers where several places could run it: a word, or weights; and where its inputs are."""

from enum import StrEnum
from typing import Annotated, Self

from pydantic import Field, model_validator

from dovetail.model.offer import Place
from dovetail.model.text.quantity import Bytes
from dovetail.model.text.strict import Strict

PreferenceWeight = Annotated[float, Field(ge=0, le=1000, allow_inf_nan=False)]


class PlacePreference(StrEnum):
    CHEAPEST = "cheapest"
    FASTEST = "fastest"
    GREENEST = "greenest"
    LOCAL_FIRST = "local-first"


class PreferenceWeights(Strict):
    """How much each matters, relative to the others."""

    price: PreferenceWeight = 0.0
    """What it costs, with transfers and repeated work."""
    start: PreferenceWeight = 0.0
    """How soon it runs."""
    carbon: PreferenceWeight = 0.0
    """What is emitted for it."""
    egress: PreferenceWeight = 0.0
    """The price of transferring its inputs alone."""
    risk: PreferenceWeight = 0.0
    """Work that is lost because a node is taken away."""
    local: PreferenceWeight = 0.0
    """Nodes of one's own."""

    @model_validator(mode="after")
    def _check_weighs(self) -> Self:
        if not any(self.values()):
            raise ValueError(f"weighs nothing; give one of {', '.join(type(self).model_fields)} a weight above 0")
        return self

    def values(self) -> tuple[float, ...]:
        """In the order of the fields."""
        return self.price, self.start, self.carbon, self.egress, self.risk, self.local


#: What the words stand for. Where a word leaves places equal, the price decides.
PRESETS: dict[PlacePreference, PreferenceWeights] = {
    PlacePreference.CHEAPEST: PreferenceWeights(price=1),
    PlacePreference.FASTEST: PreferenceWeights(start=100, price=1),
    PlacePreference.GREENEST: PreferenceWeights(carbon=100, price=1),
    PlacePreference.LOCAL_FIRST: PreferenceWeights(local=10, price=1),
}


class DataInput(Strict):
    """Data that each task reads, where it is (`aws/us-east-1`; empty: here), and how much of it."""

    place: Place = ""
    size: Annotated[Bytes, Field(gt=0)]
