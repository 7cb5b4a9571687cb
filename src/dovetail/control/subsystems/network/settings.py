"""Settings of the subsystem `network`."""

from typing import Annotated

from pydantic import Field

from dovetail.model.text.quantity import Bytes, Duration
from dovetail.model.text.strict import Strict


class MeasuringSettings(Strict):
    enabled: bool = True
    """Let agents measure the network between them."""
    probe_every: Annotated[Duration, Field(ge=0.2, le=3600)] = 30.0
    """How long a round of probes takes at least. In a large cluster it takes longer, to stay within the budget."""
    packets: Annotated[int, Field(ge=1, le=100)] = 4
    """Packets from a node to each of its peers in a round."""
    budget: Annotated[Bytes, Field(ge=1000)] = 400_000
    """Bytes a second that all probes of round-trip times together may cost."""
    bandwidth_budget: Bytes = 400_000
    """Bytes a second that all trains of packets together may cost, which measure bandwidth; 0 sends none."""
    bandwidth_every: Annotated[Duration, Field(ge=1)] = 600.0
    """How often the bandwidth of a pair is measured at most."""
    all_pairs_up_to: Annotated[int, Field(ge=2, le=1000)] = 200
    """Up to so many nodes, every pair is measured; beyond, each node measures some peers and the rest is estimated."""
    peers: Annotated[int, Field(ge=4, le=1000)] = 32
    """How many peers a node probes then."""
    most_nodes: Annotated[int, Field(ge=2, le=10_000)] = 4000
    """Nodes beyond that, by name, are not measured: distances of all pairs take memory."""
    publish_every: Annotated[Duration, Field(ge=0.1)] = 10.0
    """How often the scheduler is told new distances at most, and only where they have clearly changed."""
    forget_after: Annotated[Duration, Field(ge=60)] = 86_400.0
    """A pair that was not measured for so long is unknown again."""
