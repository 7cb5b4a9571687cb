"""Client methods for policies, constraints and the affinity of services."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any, cast

from dovetail.client.transport.transport import API, Transport, page_params, segment, written

if TYPE_CHECKING:
    from dovetail.model.policy import Policy
    from dovetail.responses import ItemPage
    from dovetail.responses.policies import (
        ChangedAffinity,
        ChangedPolicy,
        CheckedConstraint,
        PolicyDetail,
        PolicyVersion,
        ServiceAffinityRow,
        ViolationRow,
    )

AFFINITY, ANTIAFFINITY = "affinity", "antiaffinity"


class PolicyCalls:
    _http: Transport

    def policies(self) -> list[PolicyDetail]:
        """By name."""
        return cast("list[PolicyDetail]", self._http.items(f"{API}/policies"))

    def policy_page(
        self, *, search: str = "", sort: str = "", limit: int | None = None, offset: int = 0
    ) -> ItemPage[PolicyDetail]:
        """Policies whose name, description, constraints or attachments contain `search`: so many of them, and how many
        there are. `sort`: name, version, workloads or set_at, with `-` before it in descending order."""
        params = page_params(search, sort, limit, offset)
        return cast("ItemPage[PolicyDetail]", self._http.json("GET", f"{API}/policies", params=params))

    def policy(self, name: str) -> PolicyDetail:
        return cast("PolicyDetail", self._http.json("GET", _policy(name)))

    def set_policy(self, policy: Policy | Mapping[str, Any], *, by: str = "", note: str = "") -> ChangedPolicy:
        """Make a policy, or another version of the one of that name; the same again changes nothing."""
        body = written(policy)
        if not isinstance(body.get("name"), str):
            raise ValueError("a policy needs a name")
        path, params = _policy(body["name"]), {"by": by or None, "note": note or None}
        return cast("ChangedPolicy", self._http.json("PUT", path, params=params, json=body, repeatable=True))

    def remove_policy(self, name: str, *, by: str = "", note: str = "") -> None:
        """Raises DovetailError with status 409 while unfinished work names it."""
        self._http.ask("DELETE", _policy(name), params={"by": by or None, "note": note or None})

    def policy_versions(self, name: str) -> list[PolicyVersion]:
        """Newest first; also of a policy that was removed."""
        return cast("list[PolicyVersion]", self._http.items(f"{_policy(name)}/versions"))

    def policy_version(self, name: str, version: int) -> PolicyVersion:
        return cast("PolicyVersion", self._http.json("GET", f"{_policy(name)}/versions/{version}"))

    def attach_policy(
        self,
        name: str,
        *,
        namespaces: Sequence[str] = (),
        services: Sequence[str] = (),
        workloads: Sequence[str] = (),
        by: str = "",
    ) -> ChangedPolicy:
        """Let it apply to more: patterns of namespaces, services and workloads (`NAME` or `NAMESPACE/NAME`)."""
        return self._attachments("POST", name, by, namespaces=namespaces, services=services, workloads=workloads)

    def detach_policy(
        self,
        name: str,
        *,
        namespaces: Sequence[str] = (),
        services: Sequence[str] = (),
        workloads: Sequence[str] = (),
        by: str = "",
    ) -> ChangedPolicy:
        return self._attachments("DELETE", name, by, namespaces=namespaces, services=services, workloads=workloads)

    def policy_violations(self, name: str) -> list[ViolationRow]:
        """What runs where the policy would not allow it now."""
        return cast("list[ViolationRow]", self._http.items(f"{_policy(name)}/violations"))

    def check_constraint(
        self, expression: str | Mapping[str, Any], *, namespace: str | None = None, most_failing: int | None = None
    ) -> CheckedConstraint:
        """Whether an expression can be used, how many nodes satisfy it now, and `most_failing` of those that do not."""
        body: dict[str, Any] = {"expression": expression if isinstance(expression, str) else dict(expression)}
        if namespace is not None:
            body["namespace"] = namespace
        if most_failing is not None:
            body["most_failing"] = most_failing
        return cast(
            "CheckedConstraint", self._http.json("POST", f"{API}/constraints/check", json=body, repeatable=True)
        )

    # --- services --------------------------------------------------------------------------------------------

    def service_affinities(self) -> list[ServiceAffinityRow]:
        """Affinity and anti-affinity of every service that has any."""
        return cast("list[ServiceAffinityRow]", self._http.items(f"{API}/affinity"))

    def set_service_affinity(
        self, service: str, nodes: Sequence[str], *, required: bool = False, namespace: str | None = None, by: str = ""
    ) -> ChangedAffinity:
        """The nodes that the service should be on; with `required` it must."""
        return self._set_affinity(AFFINITY, service, nodes, required, namespace, by)

    def set_service_antiaffinity(
        self, service: str, nodes: Sequence[str], *, required: bool = False, namespace: str | None = None, by: str = ""
    ) -> ChangedAffinity:
        """The nodes that the service should not be on; with `required` it must not."""
        return self._set_affinity(ANTIAFFINITY, service, nodes, required, namespace, by)

    def service_affinity(self, service: str, *, namespace: str | None = None) -> ServiceAffinityRow:
        path = _service(service, AFFINITY)
        return cast("ServiceAffinityRow", self._http.json("GET", path, params={"namespace": namespace}))

    def service_antiaffinity(self, service: str, *, namespace: str | None = None) -> ServiceAffinityRow:
        path = _service(service, ANTIAFFINITY)
        return cast("ServiceAffinityRow", self._http.json("GET", path, params={"namespace": namespace}))

    def clear_service_affinity(self, service: str, *, namespace: str | None = None) -> None:
        self._http.ask("DELETE", _service(service, AFFINITY), params={"namespace": namespace})

    def clear_service_antiaffinity(self, service: str, *, namespace: str | None = None) -> None:
        self._http.ask("DELETE", _service(service, ANTIAFFINITY), params={"namespace": namespace})

    # --- pieces ----------------------------------------------------------------------------------------------

    def _attachments(self, method: str, name: str, by: str, **scope: Sequence[str]) -> ChangedPolicy:
        body = {kind: list(names) for kind, names in scope.items()}
        path = f"{_policy(name)}/attachments"
        params, repeatable = {"by": by or None}, method == "POST"
        return cast("ChangedPolicy", self._http.json(method, path, params=params, json=body, repeatable=repeatable))

    def _set_affinity(
        self, kind: str, service: str, nodes: Sequence[str], required: bool, namespace: str | None, by: str
    ) -> ChangedAffinity:
        body = {"nodes": list(nodes), "required": required}
        path, params = _service(service, kind), {"namespace": namespace, "by": by or None}
        return cast("ChangedAffinity", self._http.json("PUT", path, params=params, json=body, repeatable=True))


def _policy(name: str) -> str:
    return f"{API}/policies/{segment(name, 'policy')}"


def _service(name: str, kind: str) -> str:
    return f"{API}/services/{segment(name, 'service')}/{kind}"
