"""Client methods for tokens: rotate the admin's, make one for a node, let new nodes join."""

from __future__ import annotations

from typing import TYPE_CHECKING, cast

from dovetail.client.transport.transport import API, Transport, segment

if TYPE_CHECKING:
    from dovetail.responses.tokens import AdminTokenMade, JoinTokenMade, JoinTokenRow, NodeTokenMade


class TokenCalls:
    _http: Transport

    def rotate_admin_token(self) -> AdminTokenMade:
        """Make another admin token; this client goes on with it."""
        made = cast("AdminTokenMade", self._http.json("POST", f"{API}/tokens/admin"))
        self._http.use_token(made["token"])
        return made

    def make_join_token(self, *, uses: int = 1, ttl: str | float = "1h") -> JoinTokenMade:
        """A token with which so many new nodes may register, for so long: seconds, or a text such as `1h`."""
        body = {"uses": uses, "ttl": ttl}
        return cast("JoinTokenMade", self._http.json("POST", f"{API}/tokens/join", json=body))

    def join_tokens(self) -> list[JoinTokenRow]:
        return cast("list[JoinTokenRow]", self._http.items(f"{API}/tokens/join"))

    def revoke_join_token(self, number: int) -> None:
        self._http.ask("DELETE", f"{API}/tokens/join/{number}")

    def make_node_token(self, name: str) -> NodeTokenMade:
        """Another token for a registered node, instead of the one that it had."""
        return cast("NodeTokenMade", self._http.json("POST", f"{API}/nodes/{segment(name, 'node')}/token"))
