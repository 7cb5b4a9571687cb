"""The part of the client that speaks of backends."""

from collections.abc import Mapping
from typing import Any, cast

from dovetail.client import types as t
from dovetail.client.transport import API, Transport
from dovetail.client.wire import segment


class BackendCalls:
    _http: Transport

    def backends(self) -> list[t.BackendRow]:
        return cast("list[t.BackendRow]", self._http.json("GET", f"{API}/backends")["items"])

    def backend_kinds(self) -> list[str]:
        """Which kinds the server knows."""
        return cast("list[str]", self._http.json("GET", f"{API}/backends")["kinds"])

    def backend(self, name: str) -> t.Backend:
        return cast("t.Backend", self._http.json("GET", _backend(name)))

    def add_backend(
        self, name: str, entry: Mapping[str, Any], *, replace: bool = False, by: str = "", note: str = ""
    ) -> t.Backend:
        """`entry` is the kind and, beside it, the settings of that kind."""
        params = {"replace": "true" if replace else None, "by": by or None, "note": note or None}
        return cast("t.Backend", self._http.json("PUT", _backend(name), params=params, json=dict(entry)))

    def remove_backend(self, name: str, *, force: bool = False, by: str = "", note: str = "") -> t.RemovedBackend:
        """Raises DovetailError with status 409 while tasks run there, unless `force`."""
        params = {"force": "true" if force else None, "by": by or None, "note": note or None}
        return cast("t.RemovedBackend", self._http.json("DELETE", _backend(name), params=params))

    def backend_history(self, name: str, *, after: int = 0, limit: int = 100) -> list[t.HistoryLine]:
        """When it was added, changed and removed, by whom and why, oldest first; also of one that is gone."""
        params = {"backend": name, "after": after, "limit": limit}
        return cast("list[t.HistoryLine]", self._http.json("GET", f"{API}/events", params=params)["items"])


def _backend(name: str) -> str:
    return f"{API}/backends/{segment(name, 'backend')}"
