"""Client methods for sessions of browsers: the link that opens one, and what a browser itself asks."""

from __future__ import annotations

from typing import TYPE_CHECKING, cast

from dovetail.client.transport import API, Transport

if TYPE_CHECKING:
    from dovetail.responses.login import LoginLink


class LoginCalls:
    _http: Transport

    def login_link(self) -> LoginLink:
        """A link that logs a browser in: once, within five minutes."""
        return cast("LoginLink", self._http.json("POST", f"{API}/login/links"))
