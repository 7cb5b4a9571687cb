"""Calls about recordings, from which a day can be decided again."""

from binascii import a2b_base64
from typing import TYPE_CHECKING, cast

from dovetail.client.transport.transport import API, Transport, segment

if TYPE_CHECKING:
    from dovetail.responses.recordings import RecordingPiece, RecordingRow


class RecordingCalls:
    _http: Transport

    def recordings(self) -> "list[RecordingRow]":
        """Oldest first."""
        return cast("list[RecordingRow]", self._http.items(f"{API}/recordings"))

    def recording(self, name: str) -> bytes:
        """All of one, as far as it was written."""
        found, offset = bytearray(), 0
        path = f"{API}/recordings/{segment(name, 'recording')}"
        while True:
            piece = cast("RecordingPiece", self._http.json("GET", path, params={"offset": offset}))
            found += a2b_base64(piece["data"])
            if piece["next_offset"] is None:
                return bytes(found)
            offset = piece["next_offset"]
