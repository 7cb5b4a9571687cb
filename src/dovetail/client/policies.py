"""The part of the client that speaks of policies, constraints and the affinity of services."""

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any, cast

from dovetail.client import types as t
from dovetail.client.transport import API, Transport
from dovetail.client.wire import segment, written

if TYPE_CHECKING:
    from dovetail.model.policy import Policy

AFFINITY, ANTIAFFINITY = "affinity", "antiaffinity"


class PolicyCalls:
    _http: Transport

    def policies(self) -> list[t.Policy]:
        """By name."""
        return cast("list[t.Policy]", self._http.json("GET", f"{API}/policies")["items"])

    def policy(self, name: str) -> t.Policy:
        return cast("t.Policy", self._http.json("GET", _policy(name)))

    def set_policy(self, policy: "Policy | Mapping[str, Any]", *, by: str = "", note: str = "") -> t.ChangedPolicy:
        """Make a policy, or another version of the one of that name; the same again changes nothing."""
        body = written(policy)
        if not isinstance(body.get("name"), str):
            raise ValueError("a policy needs a name")
        path, params = _policy(body["name"]), {"by": by or None, "note": note or None}
        return cast("t.ChangedPolicy", self._http.json("PUT", path, params=params, json=body, repeatable=True))

    def remove_policy(self, name: str, *, by: str = "", note: str = "") -> None:
        """Raises DovetailError with status 409 while unfinished work names it."""
        self._http.ask("DELETE", _policy(name), params={"by": by or None, "note": note or None})

    def policy_versions(self, name: str) -> list[t.PolicyVersion]:
        """Newest first; also of a policy that was removed."""
        return cast("list[t.PolicyVersion]", self._http.json("GET", f"{_policy(name)}/versions")["items"])

    def policy_version(self, name: str, version: int) -> t.PolicyVersion:
        return cast("t.PolicyVersion", self._http.json("GET", f"{_policy(name)}/versions/{version}"))

    def attach_policy(
        self,
        name: str,
        *,
        namespaces: Sequence[str] = (),
        services: Sequence[str] = (),
        workloads: Sequence[str] = (),
        by: str = "",
    ) -> t.ChangedPolicy:
        """Let it apply to more: patterns of namespaces, services and workloads (`NAME` or `NAMESPACE/NAME`)."""
        return self._attachments("POST", name, namespaces, services, workloads, by)

    def detach_policy(
        self,
        name: str,
        *,
        namespaces: Sequence[str] = (),
        services: Sequence[str] = (),
        workloads: Sequence[str] = (),
        by: str = "",
    ) -> t.ChangedPolicy:
        return self._attachments("DELETE", name, namespaces, services, workloads, by)

    def policy_violations(self, name: str) -> list[t.Violation]:
        """What runs where the policy would not allow it now."""
        return cast("list[t.Violation]", self._http.json("GET", f"{_policy(name)}/violations")["items"])

    def check_constraint(
        self, expression: str | Mapping[str, Any], *, namespace: str | None = None
    ) -> t.CheckedConstraint:
        """Whether an expression can be used, and which nodes satisfy it now."""
        body: dict[str, Any] = {"expression": expression if isinstance(expression, str) else dict(expression)}
        if namespace is not None:
            body["namespace"] = namespace
        answer = self._http.json("POST", f"{API}/constraints/check", json=body, repeatable=True)
        return cast("t.CheckedConstraint", answer)

    # --- services --------------------------------------------------------------------------------------------

    def service_affinities(self) -> list[t.ServiceAffinity]:
        """Affinity and anti-affinity of every service that has any."""
        return cast("list[t.ServiceAffinity]", self._http.json("GET", f"{API}/services")["items"])

    def set_service_affinity(
        self, service: str, nodes: Sequence[str], *, required: bool = False, namespace: str | None = None, by: str = ""
    ) -> t.ChangedAffinity:
        """The nodes that the service should be on; with `required` it must."""
        return self._set_affinity(AFFINITY, service, nodes, required, namespace, by)

    def set_service_antiaffinity(
        self, service: str, nodes: Sequence[str], *, required: bool = False, namespace: str | None = None, by: str = ""
    ) -> t.ChangedAffinity:
        """The nodes that the service should not be on; with `required` it must not."""
        return self._set_affinity(ANTIAFFINITY, service, nodes, required, namespace, by)

    def service_affinity(self, service: str, *, namespace: str | None = None) -> t.ServiceAffinity:
        return cast("t.ServiceAffinity", self._http.json("GET", _service(service, AFFINITY), params=_in(namespace)))

    def service_antiaffinity(self, service: str, *, namespace: str | None = None) -> t.ServiceAffinity:
        path = _service(service, ANTIAFFINITY)
        return cast("t.ServiceAffinity", self._http.json("GET", path, params=_in(namespace)))

    def clear_service_affinity(self, service: str, *, namespace: str | None = None) -> None:
        self._http.ask("DELETE", _service(service, AFFINITY), params=_in(namespace))

    def clear_service_antiaffinity(self, service: str, *, namespace: str | None = None) -> None:
        self._http.ask("DELETE", _service(service, ANTIAFFINITY), params=_in(namespace))

    # --- pieces ----------------------------------------------------------------------------------------------

    def _attachments(
        self,
        method: str,
        name: str,
        namespaces: Sequence[str],
        services: Sequence[str],
        workloads: Sequence[str],
        by: str,
    ) -> t.ChangedPolicy:
        body = {"namespaces": list(namespaces), "services": list(services), "workloads": list(workloads)}
        path = f"{_policy(name)}/attachments"
        answer = self._http.json(method, path, params={"by": by or None}, json=body, repeatable=method == "POST")
        return cast("t.ChangedPolicy", answer)

    def _set_affinity(
        self, kind: str, service: str, nodes: Sequence[str], required: bool, namespace: str | None, by: str
    ) -> t.ChangedAffinity:
        body = {"nodes": list(nodes), "required": required}
        params = _in(namespace) | {"by": by or None}
        answer = self._http.json("PUT", _service(service, kind), params=params, json=body, repeatable=True)
        return cast("t.ChangedAffinity", answer)


def _policy(name: str) -> str:
    return f"{API}/policies/{segment(name, 'policy')}"


def _service(name: str, kind: str) -> str:
    return f"{API}/services/{segment(name, 'service')}/{kind}"


def _in(namespace: str | None) -> dict[str, str | None]:
    return {"namespace": namespace}
