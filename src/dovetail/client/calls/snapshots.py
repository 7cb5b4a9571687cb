"""Client methods that ask about a copy of the live state: snapshot, what-if, preview of a profile."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any, cast

from dovetail.client.transport.transport import API, Transport

if TYPE_CHECKING:
    from dovetail.responses.snapshots import ProfilePreview, WhatIfAnswer


class SnapshotCalls:
    _http: Transport

    def snapshot(self) -> bytes:
        """A snapshot file, for `dovetail simulate`: JSON, without secrets."""
        return self._http.ask("GET", f"{API}/snapshot").content

    def what_if(self, changes: Mapping[str, Any] | bytes) -> WhatIfAnswer:
        """What would be different: `workloads`, `cancel`, `remove_nodes`, `add_nodes`, `fail`, `profile`, `horizon`,
        `seed`. Bytes are YAML as it stands in a file. Nothing is changed."""
        if isinstance(changes, bytes):
            headers = {"Content-Type": "application/yaml"}
            found = self._http.json("POST", f"{API}/what-if", content=changes, headers=headers, repeatable=True)
        else:
            found = self._http.json("POST", f"{API}/what-if", json=dict(changes), repeatable=True)
        return cast("WhatIfAnswer", found)

    def preview_profile(self, profile: str | Mapping[str, Any], last: int | None = None) -> ProfilePreview:
        """Which of the last decisions would have been others with this profile, by name or as settings."""
        body: dict[str, Any] = {"profile": profile} | ({} if last is None else {"last": last})
        return cast("ProfilePreview", self._http.json("POST", f"{API}/profiles/preview", json=body, repeatable=True))
