"""Client methods for names: what one stands for, and which there are."""

from __future__ import annotations

from typing import TYPE_CHECKING, cast

from dovetail.client.transport.transport import API, Transport, segment

if TYPE_CHECKING:
    from dovetail.responses.names import NamedWorkloads


class NameCalls:
    _http: Transport

    def named(self, ref: str | int, namespace: str | None = None) -> NamedWorkloads:
        """What a name stands for: `train`, `team/train`, `train.3`, the name of a group or a role, or an id. Raises
        DovetailError with status 404 for an unknown name, 409 with the candidates if several namespaces have it."""
        path = f"{API}/names/{segment(str(ref), 'workload')}"
        return cast("NamedWorkloads", self._http.json("GET", path, params={"namespace": namespace}))

    def names(self, kind: str = "workloads", prefix: str = "") -> list[str]:
        """Names that begin so: of workloads, nodes, queues, profiles, policies, backends or namespaces."""
        return cast("list[str]", self._http.items(f"{API}/names", {"kind": kind, "prefix": prefix or None}))
