"""Who may ask for what: every request but a probe carries a token, and a node's token speaks for that node alone.

Guarantees: what is not listed here for nodes and joining needs the admin token, or a session of a browser that was
opened with it (`api.login`). Nothing of a token comes into an answer or a log. A session changes something only
together with what a page of this server knows (`csrf_of`). A browser may also send the token as a password, for reading
only: it sends a password along with requests of other pages too.
"""

import binascii
import re
from collections.abc import Callable

from starlette.datastructures import Headers
from starlette.requests import cookie_parser

from dovetail.access.tokens import MAX_LENGTH, TokenKind, csrf_of, is_same
from dovetail.api.protocol.openapi import LOGIN
from dovetail.api.protocol.problems import PROBES, HttpProblem
from dovetail.control.services.access import AccessService, Caller

_READING = frozenset({"GET", "HEAD"})
_OWN_REPORTS = re.compile(r"/api/v1/nodes/([^/]+)/(?:heartbeat|probes|drain|calls/[^/]+|sessions/[^/]+)")
_OWN_NODE = re.compile(r"/api/v1/nodes/([^/]+)(?:/orders|/distances|/sessions/[^/]+/input)?")
_ENDPOINTS = "/api/v1/endpoints"
_REGISTER = ("POST", "/api/v1/nodes")
_MAX_COOKIES = 16_000
CSRF = "X-Dovetail-CSRF"
_WHERE = "it lies in admin.token in the data folder of the server, where commands of the same account find it"
_WHAT_TO_DO = f"{_WHERE}; elsewhere set DOVETAIL_TOKEN, or give --token-file FILE"


class Guard:
    def __init__(self, access: AccessService, cookie: str, is_open: Callable[[str, str], bool]) -> None:
        """`cookie`: its name. `is_open`: whether anybody may ask for a path by a method: pages without data."""
        self._access, self._cookie, self._is_open = access, cookie, is_open

    def caller(self, headers: Headers, method: str, path: str) -> Caller | None:
        """Who sends the request. None on open routes, and for a probe without a token. Raises HttpProblem for what the
        caller may not do."""
        if self._is_open(method, path):
            return None
        token = _token_in(headers, method)
        found = self._of_session(headers, method) if token is None else self._access.caller(token)
        if found is None and path not in PROBES:
            words = "this request carries no token" if token is None else "this token is not, or no longer, valid here"
            raise HttpProblem(401, f"{words}; {_WHAT_TO_DO}", headers={"WWW-Authenticate": _challenge(headers)})
        if found is not None and path not in PROBES and not _may(found, method, path):
            raise HttpProblem(403, f"{_words(found)}; use the admin token for anything else")
        return found

    def _of_session(self, headers: Headers, method: str) -> Caller | None:
        """Whom the cookie of a browser speaks for."""
        session = session_in(headers, self._cookie)
        if session is None or self._access.session_end(session) is None:
            return None
        if method not in _READING and not is_same(headers.get(CSRF, ""), csrf_of(session)):
            words = f"a page that changes something sends the header {CSRF}, as GET {LOGIN} tells it"
            raise HttpProblem(403, f"{words}; load the page again")
        self._access.session_used(session, headers.get("User-Agent", ""))
        return Caller(TokenKind.ADMIN)


def session_in(headers: Headers, cookie: str) -> str | None:
    """The token of the session that a browser sends."""
    given = headers.getlist("Cookie")
    return cookie_parser(given[0]).get(cookie) if len(given) == 1 and len(given[0]) <= _MAX_COOKIES else None


def _may(caller: Caller, method: str, path: str) -> bool:
    """Whether it may be asked; whom `POST /nodes` registers, the route looks at."""
    if caller.kind is TokenKind.ADMIN:
        return True
    if (method, path) == _REGISTER and caller.kind in (TokenKind.NODE, TokenKind.JOIN):
        return True
    if caller.kind is not TokenKind.NODE:
        return False
    if method in _READING and path == _ENDPOINTS:
        return True  # the DNS server of an agent answers for all services
    own = _OWN_REPORTS if method == "POST" else _OWN_NODE if method in _READING else None
    found = None if own is None else own.fullmatch(path)
    return found is not None and found[1] == caller.node


def check_registers(caller: Caller, node: str, *, is_known: bool) -> None:
    """Raises HttpProblem if this caller may not register this node, or change it. `is_known`: and nobody waits for its
    agent."""
    if caller.node is not None and caller.node != node:
        raise HttpProblem(403, f"{_words(caller)}; use a join token for another: dovetail token join")
    if caller.kind is TokenKind.JOIN and is_known:
        what_to_do = f"use its own token, or make it another: dovetail token node {node}"
        raise HttpProblem(409, f"node {node!r} has joined already, and a join token is for new ones; {what_to_do}")


def _words(caller: Caller) -> str:
    if caller.kind is TokenKind.NODE:
        what = "its heartbeats, its orders and its description; and it reads the endpoints of services"
        return f"this token speaks for node {caller.node} alone: {what}"
    if caller.kind in (TokenKind.LOGIN, TokenKind.SESSION):
        return f"a {caller.kind} token is for browsers, which send it as a cookie"
    only = "" if caller.node is None else f" {caller.node}"
    return f"a join token registers a new node{only} and does nothing else"


def _token_in(headers: Headers, method: str) -> str | None:
    given = headers.getlist("Authorization")
    if len(given) != 1 or len(given[0]) > 4 * MAX_LENGTH:
        return None
    scheme, _, value = given[0].partition(" ")
    value = value.strip()
    if scheme.lower() == "bearer":
        return value or None
    return _password(value) if scheme.lower() == "basic" and method in _READING else None


def _password(value: str) -> str | None:
    try:
        return binascii.a2b_base64(value, strict_mode=True).decode().partition(":")[2] or None
    except ValueError:
        return None


def _challenge(headers: Headers) -> str:
    """A browser asks its user for a password; the token is one, for any user name."""
    return 'Basic realm="Dovetail: the token is the password"' if "text/html" in headers.get("Accept", "") else "Bearer"
