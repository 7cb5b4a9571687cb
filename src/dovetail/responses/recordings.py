"""Answers about recordings, from which a day can be decided again."""

from typing_extensions import TypedDict


class RecordingRow(TypedDict):
    """A segment: it begins with the whole state at `at`."""

    name: str
    at: float
    size_bytes: int


class RecordingPiece(TypedDict):
    """Bytes of a segment in base64. `next_offset`: where the next piece begins; null: this was the last one there is
    now."""

    name: str
    offset: int
    data: str
    next_offset: int | None
