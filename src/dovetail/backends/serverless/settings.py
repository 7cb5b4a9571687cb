"""Settings that all backends of functions have."""

from typing import Annotated

from pydantic import Field

from dovetail.model.text.quantity import Count, Duration
from dovetail.model.text.strict import Strict

#: Part of idempotency keys, so restricted to what every service accepts there.
ClusterId = Annotated[str, Field(pattern=r"^[a-zA-Z0-9][a-zA-Z0-9_-]{0,39}$")]
Concurrency = Annotated[Count, Field(ge=1, le=100_000)]


class CallSettings(Strict):
    cluster: ClusterId | None = None
    """The name of this control plane in idempotency keys; by default a random name that is kept."""
    poll_interval_s: Annotated[Duration, Field(ge=0.02)] = 0.2
    """How soon a call is looked at again; the pauses grow to `poll_most_s`. Starts and ends are known so exactly."""
    poll_most_s: Annotated[Duration, Field(ge=0.02)] = 10.0
    """The longest pause between two looks at a call."""
    start_within_s: Annotated[Duration, Field(gt=0)] = 900.0
    """A call that the service accepted and has not begun by then is taken back, and its task is placed again."""
    lost_after_s: Annotated[Duration, Field(gt=0)] = 60.0
    """A call that has shown no sign of life for so long is lost, where functions show such signs."""
    look_interval_s: Annotated[Duration, Field(ge=0.05)] = 60.0
    """How often the functions themselves are looked at: whether they can be called, their memory and concurrency."""
    parallel: Annotated[Count, Field(ge=1, le=1000)] = 16
    """How many short requests are made at once."""
    keep_output_for_s: Duration = 7 * 86400.0
    """How long the results of calls are kept."""
