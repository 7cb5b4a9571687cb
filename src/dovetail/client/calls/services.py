"""Client methods for services: apply, scale, update, remove, look."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any, TypeAlias, cast

from dovetail.client.transport.transport import API, Transport, as_body, page_params, segment

if TYPE_CHECKING:
    from dovetail.model.services.service import Service
    from dovetail.responses import ItemPage
    from dovetail.responses.services import AppliedService, AppliedServices, ServiceDetail, ServiceRow

Definition: TypeAlias = "Service | Mapping[str, Any]"


class ServiceCalls:
    _http: Transport

    def apply(
        self, services: Definition | Sequence[Definition] | bytes, *, dry_run: bool = False, by: str = ""
    ) -> list[AppliedService]:
        """Make services, or change them. Bytes are YAML as it stands in a file. `dry_run` only says what would be done;
        `by`: who does it, for the history."""
        params = {"dry_run": dry_run or None, "by": by or None}
        answer: AppliedServices = self._http.json(
            "POST", f"{API}/services", params=params, **as_body(services), repeatable=True
        )
        return answer["services"]

    def services(self, *, namespace: str | None = None) -> list[ServiceRow]:
        """By namespace and name."""
        found = self._http.json("GET", f"{API}/services", params={"namespace": namespace})
        return cast("list[ServiceRow]", found["items"])

    def service_page(
        self,
        *,
        namespace: str | None = None,
        search: str = "",
        sort: str = "",
        limit: int | None = None,
        offset: int = 0,
    ) -> ItemPage[ServiceRow]:
        """Services whose names contain `search`: so many of them, and how many there are. `sort`: name, ready, rollout,
        revision or made_at, with `-` before it in descending order."""
        params = {"namespace": namespace, **page_params(search, sort, limit, offset)}
        return cast("ItemPage[ServiceRow]", self._http.json("GET", f"{API}/services", params=params))

    def service(self, name: str, *, namespace: str | None = None) -> ServiceDetail:
        """With its replicas and its revisions."""
        path = f"{API}/services/{segment(name, 'service')}"
        return cast("ServiceDetail", self._http.json("GET", path, params={"namespace": namespace}))

    def scale(self, name: str, replicas: int, *, namespace: str | None = None) -> ServiceRow:
        path = f"{API}/services/{segment(name, 'service')}/scale"
        answer = self._http.json(
            "PUT", path, params={"namespace": namespace}, json={"replicas": replicas}, repeatable=True
        )
        return cast("ServiceRow", answer)

    def undo_rollout(self, name: str, revision: int | None = None, *, namespace: str | None = None) -> ServiceRow:
        """Go back to a revision; without one, to that before the present one."""
        path = f"{API}/services/{segment(name, 'service')}/undo"
        wish = {} if revision is None else {"revision": revision}
        return cast("ServiceRow", self._http.json("POST", path, params={"namespace": namespace}, json=wish))

    def restart_service(self, name: str, *, namespace: str | None = None, by: str = "") -> ServiceRow:
        """Replace every replica by a new one of the same definition."""
        path = f"{API}/services/{segment(name, 'service')}/restart"
        params = {"namespace": namespace, "by": by or None}
        return cast("ServiceRow", self._http.json("POST", path, params=params))

    def remove_service(self, name: str, *, namespace: str | None = None) -> ServiceRow:
        """Stop its replicas and forget it."""
        path = f"{API}/services/{segment(name, 'service')}"
        return cast("ServiceRow", self._http.json("DELETE", path, params={"namespace": namespace}))
