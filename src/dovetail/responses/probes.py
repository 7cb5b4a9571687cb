"""What agents and the control plane tell each other about probes."""

from typing_extensions import TypedDict


class ProbeKey(TypedDict):
    """`key`: in hex. It is valid in one epoch."""

    epoch: int
    key: str


class ProbePeer(ProbeKey):
    """Whom to probe, and with which key."""

    node: str
    address: str
    port: int


class TrainOrder(ProbePeer):
    """To whom a train of packets goes, and in how many seconds."""

    in_s: float


class ProbeOrders(TypedDict):
    """What an agent has to measure: `packets` to each peer within `again_s` seconds, after which it reports and asks
    again. `keys` are its own, with which it answers probes; without any it does not listen."""

    again_s: float
    packets: int
    keys: list[ProbeKey]
    peers: list[ProbePeer]
    trains: list[TrainOrder]


class ProbeResult(TypedDict):
    """`sent`: packets; `rtts_us`: the round-trip times of those that were answered, in microseconds."""

    node: str
    sent: int
    rtts_us: list[float]


class ProbedTrain(TypedDict):
    """The bandwidth that a train saw. `at_least`: the sender could not send faster."""

    node: str
    mbps: float
    at_least: bool


class ProbeReport(TypedDict):
    """Where an agent listens for probes (null: nowhere), and what it measured in the last round."""

    address: str | None
    port: int | None
    results: list[ProbeResult]
    trains: list[ProbedTrain]
