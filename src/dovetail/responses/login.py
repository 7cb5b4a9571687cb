"""Answers about the sessions of browsers."""

from typing_extensions import TypedDict


class LoginLink(TypedDict):
    """`path`: to be opened once, below the address of the server. The token stands behind the `#`, which browsers send
    to nobody."""

    path: str
    expires_at: float


class WebPageRow(TypedDict):
    """A page of the dashboard; `group` is empty for those above all groups."""

    path: str
    title: str
    group: str
    module: str
    in_menu: bool


class WebSession(TypedDict):
    """`csrf`: every change that a page sends carries it as `X-Dovetail-CSRF`. `profile`: the default one."""

    user: str
    csrf: str
    expires_at: float
    version: str
    profile: str
    pages: list[WebPageRow]


class SessionRow(TypedDict):
    """An open session of a browser. `used_at`: when it last asked something, `browser`: which one, such as `Firefox on
    Linux`; None and empty if it did not since the server started. `current`: it is the one that asks."""

    id: int
    user: str
    made_at: float
    expires_at: float
    used_at: float | None
    browser: str
    current: bool
