"""Client methods for backends."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any, cast

from dovetail.client.transport.transport import API, Transport, page_params, segment

if TYPE_CHECKING:
    from dovetail.responses.backends import AddedBackend, BackendDetail, BackendList, BackendRow, RemovedBackend
    from dovetail.responses.system import HistoryRow


class BackendCalls:
    _http: Transport

    def backends(self) -> list[BackendRow]:
        return cast("BackendList", self._http.json("GET", f"{API}/backends"))["items"]

    def backend_page(
        self, *, search: str = "", sort: str = "", limit: int | None = None, offset: int = 0
    ) -> BackendList:
        """Backends whose name or kind contains `search`: so many of them, and how many there are. `sort`: a field of
        the rows, with `-` before it in descending order; by state the worst come first."""
        params = page_params(search, sort, limit, offset)
        return cast("BackendList", self._http.json("GET", f"{API}/backends", params=params))

    def backend_kinds(self) -> list[str]:
        """Which kinds the server knows."""
        return cast("BackendList", self._http.json("GET", f"{API}/backends"))["kinds"]

    def backend(self, name: str) -> BackendDetail:
        return cast("BackendDetail", self._http.json("GET", _backend(name)))

    def add_backend(
        self, name: str, entry: Mapping[str, Any], *, replace: bool = False, by: str = "", note: str = ""
    ) -> AddedBackend:
        """`entry` is the kind and, beside it, the settings of that kind."""
        params = {"replace": "true" if replace else None, "by": by or None, "note": note or None}
        return cast("AddedBackend", self._http.json("PUT", _backend(name), params=params, json=dict(entry)))

    def remove_backend(self, name: str, *, force: bool = False, by: str = "", note: str = "") -> RemovedBackend:
        """Raises DovetailError with status 409 while tasks run there, unless `force`."""
        params = {"force": "true" if force else None, "by": by or None, "note": note or None}
        return cast("RemovedBackend", self._http.json("DELETE", _backend(name), params=params))

    def backend_history(self, name: str, *, after: int = 0, limit: int = 100) -> list[HistoryRow]:
        """When it was added, changed and removed, by whom and why, oldest first. Also of a removed backend."""
        return cast(
            "list[HistoryRow]", self._http.items(f"{API}/events", {"backend": name, "after": after, "limit": limit})
        )


def _backend(name: str) -> str:
    return f"{API}/backends/{segment(name, 'backend')}"
