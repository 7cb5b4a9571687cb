"""Routes of sessions: a browser exchanges a link or a token for a cookie, which scripts cannot read.

A session has the rights of who opened it. Its cookie goes to this server alone, and to no page of another site; what
changes something also needs `csrf` (`api.protocol.guard`).
"""

import time
from typing import Annotated, cast

from fastapi import Path, Request
from pydantic import Field, SecretStr
from starlette.responses import Response

import dovetail
from dovetail.access.tokens import MAX_LENGTH, csrf_of
from dovetail.api.protocol.body import MAX_ID, model_in, plane_of
from dovetail.api.protocol.guard import session_in
from dovetail.api.protocol.openapi import Routes, takes
from dovetail.api.protocol.problems import HttpProblem
from dovetail.api.protocol.replies import CreatedJson, Json, NoContent
from dovetail.control.plane import ControlPlane
from dovetail.control.services.access import OpenSession
from dovetail.model.text.strict import Strict
from dovetail.responses import ItemList
from dovetail.responses.login import LoginLink, SessionRow, WebPageRow, WebSession
from dovetail.web.page_table import PAGES

router = Routes(tags=["login"])

_NO_SESSION = "this browser has no session here; dovetail open prints a link that opens one"


_USER = "admin"  # who opens a session has the rights of the admin token


class LoginWish(Strict):
    """`token`: of a link, or the admin token."""

    token: Annotated[SecretStr, Field(min_length=1, max_length=MAX_LENGTH)]


def cookie_name(plane: ControlPlane) -> str:
    """Cookies of one host are sent to all its ports: servers beside each other need different names."""
    return f"dovetail_session_{plane.settings.listen.port}"


@router.post("/login/links")
async def make_link(request: Request) -> CreatedJson[LoginLink]:
    """Make a link that logs a browser in: once, within five minutes."""
    token, expires_at = await plane_of(request).access.login_link()
    return CreatedJson({"path": f"/login#{token}", "expires_at": expires_at})


@router.post("/login", openapi_extra=takes(LoginWish))
async def log_in(request: Request) -> CreatedJson[WebSession]:
    """Open a session with the token of a link, or with the admin token. It needs no other token."""
    plane = plane_of(request)
    wish = await model_in(request, LoginWish)
    opened = await plane.access.open_session(wish.token.get_secret_value())
    if opened is None:
        raise HttpProblem(
            401, "this link was used or has expired, or the token is wrong; dovetail open prints a new link"
        )
    session, expires_at = opened
    answer = CreatedJson(_session(plane, session, expires_at))
    _set_cookie(answer, plane, session, max(0, int(expires_at - time.time())))
    return answer


@router.get("/login")
async def current_session(request: Request) -> Json[WebSession] | NoContent:
    """The session of this browser: what it may send, and which pages there are. Nothing if it has none."""
    plane = plane_of(request)
    session = session_in(request.headers, cookie_name(plane))
    expires_at = None if session is None else plane.access.session_end(session)
    if session is None or expires_at is None:
        return NoContent()
    return Json(_session(plane, session, expires_at))


@router.delete("/login")
async def log_out(request: Request) -> NoContent:
    """End the session of this browser."""
    plane = plane_of(request)
    session = session_in(request.headers, cookie_name(plane))
    if session is None:
        raise HttpProblem(404, _NO_SESSION)
    await plane.access.end_session(session)
    answer = NoContent()
    _set_cookie(answer, plane, "", 0)
    return answer


@router.get("/login/sessions")
async def sessions(request: Request) -> Json[ItemList[SessionRow]]:
    """The sessions of browsers that are open, oldest first. Their tokens are known to the browsers only."""
    plane = plane_of(request)
    own = session_in(request.headers, cookie_name(plane))
    number = None if own is None else plane.access.session_number(own)
    return Json({"items": [_session_row(one, number) for one in plane.access.sessions()]})


@router.delete("/login/sessions/{number}")
async def end_session(request: Request, number: Annotated[int, Path(ge=0, le=MAX_ID)]) -> NoContent:
    """End the session of a browser: from now on it has to log in again."""
    await plane_of(request).access.end_session_number(number)
    return NoContent()


def _session_row(one: OpenSession, own: int | None) -> SessionRow:
    return {
        "id": one.record.id,
        "user": _USER,
        "made_at": one.record.made_at,
        "expires_at": one.record.expires_at or 0.0,
        "used_at": None if one.use is None else one.use.at,
        "browser": "" if one.use is None else one.use.browser,
        "current": one.record.id == own,
    }


def _set_cookie(answer: Response, plane: ControlPlane, value: str, max_age_s: int) -> None:
    secure = plane.settings.listen.tls is not None
    name = cookie_name(plane)
    answer.set_cookie(name, value, max_age=max_age_s, path="/", secure=secure, httponly=True, samesite="strict")


def _session(plane: ControlPlane, session: str, expires_at: float) -> WebSession:
    pages = [cast("WebPageRow", {name: getattr(page, name) for name in WebPageRow.__annotations__}) for page in PAGES]
    return {
        "user": _USER,
        "csrf": csrf_of(session),
        "expires_at": expires_at,
        "version": dovetail.__version__,
        "profile": plane.settings.scheduling.default_profile,
        "pages": pages,
    }
