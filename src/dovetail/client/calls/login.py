"""Client methods for sessions of browsers: the link that opens one, and what a browser itself asks."""

from __future__ import annotations

from typing import TYPE_CHECKING, cast

from dovetail.client.transport.transport import API, Transport

if TYPE_CHECKING:
    from dovetail.responses.login import LoginLink, SessionRow


class LoginCalls:
    _http: Transport

    def login_link(self) -> LoginLink:
        """A link that logs a browser in: once, within five minutes."""
        return cast("LoginLink", self._http.json("POST", f"{API}/login/links"))

    def browser_sessions(self) -> list[SessionRow]:
        """The sessions of browsers that are open, oldest first."""
        return cast("list[SessionRow]", self._http.items(f"{API}/login/sessions"))

    def end_browser_session(self, number: int) -> None:
        """End the session of a browser: it has to log in again."""
        self._http.ask("DELETE", f"{API}/login/sessions/{number}")
