"""`Client`: one method for every route of the server, with typed results.

The methods stand in one module a noun (`workloads`, `nodes`, …), as the routes do in `api`.

Guarantees: connections are reused. A call returns what its type says (`dovetail.responses`), or raises `DovetailError`
(the server refused), `ConnectError` (no server answered) or, before anything is sent, `ValueError`. `submit` carries an
idempotency key, so it is repeated after a lost answer without submitting twice.
"""

from typing import Self

from dovetail.client.backends import BackendCalls
from dovetail.client.cloud import CloudCalls
from dovetail.client.cost import CostCalls
from dovetail.client.discovery import DiscoveryCalls
from dovetail.client.events import EventCalls
from dovetail.client.login import LoginCalls
from dovetail.client.metal import MetalCalls
from dovetail.client.names import NameCalls
from dovetail.client.network import NetworkCalls
from dovetail.client.nodes import NodeCalls
from dovetail.client.output import OutputCalls
from dovetail.client.overview import OverviewCalls
from dovetail.client.policies import PolicyCalls
from dovetail.client.questions import QuestionCalls
from dovetail.client.queues import QueueCalls
from dovetail.client.rebalancing import RebalancingCalls
from dovetail.client.services import ServiceCalls
from dovetail.client.snapshots import SnapshotCalls
from dovetail.client.system import SystemCalls
from dovetail.client.tokens import TokenCalls
from dovetail.client.transport import Transport
from dovetail.client.vms import VmCalls
from dovetail.client.waiting import WaitCalls
from dovetail.client.workload_changes import WorkloadChangeCalls

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
