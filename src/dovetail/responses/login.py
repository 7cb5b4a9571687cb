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
