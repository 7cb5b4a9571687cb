"""`Client`: one method for every route of the server, with typed results.

The methods stand in `calls` and `following`; this class joins them.

Guarantees: connections are reused. A call returns what its type says (`dovetail.responses`), or raises `DovetailError`
(the server refused), `ConnectError` (no server answered) or, before anything is sent, `ValueError`. `submit` carries an
idempotency key, so it is repeated after a lost answer without submitting twice.
"""

from typing import Self

from dovetail.client.calls.backends import BackendCalls
from dovetail.client.calls.cloud import CloudCalls
from dovetail.client.calls.cost import CostCalls
from dovetail.client.calls.discovery import DiscoveryCalls
from dovetail.client.calls.login import LoginCalls
from dovetail.client.calls.metal import MetalCalls
from dovetail.client.calls.names import NameCalls
from dovetail.client.calls.network import NetworkCalls
from dovetail.client.calls.nodes import NodeCalls
from dovetail.client.calls.overview import OverviewCalls
from dovetail.client.calls.policies import PolicyCalls
from dovetail.client.calls.questions import QuestionCalls
from dovetail.client.calls.queues import QueueCalls
from dovetail.client.calls.rebalancing import RebalancingCalls
from dovetail.client.calls.recordings import RecordingCalls
from dovetail.client.calls.services import ServiceCalls
from dovetail.client.calls.snapshots import SnapshotCalls
from dovetail.client.calls.system import SystemCalls
from dovetail.client.calls.tokens import TokenCalls
from dovetail.client.calls.vms import VmCalls
from dovetail.client.calls.workload_changes import WorkloadChangeCalls
from dovetail.client.following.events import EventCalls
from dovetail.client.following.output import OutputCalls
from dovetail.client.following.waiting import WaitCalls
from dovetail.client.transport.transport import Transport

TIMEOUT_S = 30.0


class Client(
    WaitCalls,
    WorkloadChangeCalls,
    ServiceCalls,
    DiscoveryCalls,
    NameCalls,
    OutputCalls,
    EventCalls,
    QuestionCalls,
    NodeCalls,
    QueueCalls,
    NetworkCalls,
    RebalancingCalls,
    PolicyCalls,
    CostCalls,
    BackendCalls,
    CloudCalls,
    MetalCalls,
    TokenCalls,
    LoginCalls,
    VmCalls,
    OverviewCalls,
    RecordingCalls,
    SystemCalls,
    SnapshotCalls,
):
    """Talks to one server. Use it as a context manager, or call `close`.

    A workload is named as the command line takes it: by its id, or as `train`, `team/train`, `train.3` for one task. A
    name without a namespace is the one in `default`, or else the only one there is.
    """

    def __init__(
        self,
        url: str | None = None,
        token: str | None = None,
        timeout_s: float = TIMEOUT_S,
        certificate: str | None = None,
    ) -> None:
        self._http = Transport(url, token, timeout_s, certificate=certificate)

    @property
    def url(self) -> str:
        return self._http.url

    def close(self) -> None:
        self._http.close()

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()
