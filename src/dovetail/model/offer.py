"""What using a node costs, how soon it runs, and how likely it is taken away: what the market compares.

A node without an offer is a machine that is there anyway: it costs nothing more, runs now and stays. A node is one's
own if it has no offer, or one that names no place.
"""

from typing import Annotated

from pydantic import Field

from dovetail.model.text.quantity import Duration
from dovetail.model.text.strict import Strict

Currency = Annotated[str, Field(pattern="^[A-Z]{3}$")]
Share = Annotated[float, Field(ge=0, le=1, allow_inf_nan=False)]
Amount = Annotated[float, Field(ge=0, le=1e6, allow_inf_nan=False)]
Place = Annotated[str, Field(max_length=200)]


class Offer(Strict):
    """The price is that of the whole node. `running`: the machine runs now; else it is launched when work is bound to
    it, which takes `start_up`. `interruption`: the chance that its owner takes it back within an hour.
    `carbon_g_per_kwh` and `watts`: of the node at full load, if they are known."""

    price_per_hour: Amount = 0.0
    """The price of the whole node for an hour."""
    currency: Currency = "USD"
    """The currency of the price, as three letters."""
    running: bool = True
    """It runs now; else it is launched when work is bound to it."""
    start_up: Duration = 0.0
    """How long a launch takes."""
    spot: bool = False
    """Its owner may take it back at any time."""
    interruption: Share = 0.0
    """The chance that this happens within an hour, 0 to 1."""
    carbon_g_per_kwh: Amount | None = None
    """Grams of CO2 for a kWh where it stands; left out: from a table by place."""
    watts: Amount | None = None
    """What it draws at full load; left out: estimated from cores and GPUs."""
    place: Place = ""
    """Where it stands, as prices of transfer and tables of carbon name it: `aws/us-east-1`. Empty: here."""
