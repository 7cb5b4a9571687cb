"""Answers about tokens."""

from typing_extensions import TypedDict


class AdminTokenMade(TypedDict):
    """`token` replaces the one before. `file`: where it lies on the server's machine."""

    token: str
    file: str


class NodeTokenMade(TypedDict):
    """`token` replaces the one that the node had."""

    node: str
    token: str


class JoinTokenRow(TypedDict):
    id: int
    made_at: float
    expires_at: float
    uses_left: int


class JoinTokenMade(JoinTokenRow):
    """`token` is told this once: the server keeps only a digest."""

    token: str
