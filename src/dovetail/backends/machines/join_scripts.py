"""The scripts by which machines join: each starts an agent with a join token for its node alone."""

from collections.abc import Callable

from dovetail.backends.contract import NodeCredentials
from dovetail.backends.machines.settings import JoinSettings
from dovetail.backends.machines.user_data import join_script


class JoinScripts:
    """`join` None: machines need none. `credentials` come from the control plane before the start."""

    def __init__(self, join: JoinSettings | None, now: Callable[[], float]) -> None:
        self._join, self._now = join, now
        self.credentials: NodeCredentials | None = None
        self._made: dict[str, tuple[str, float]] = {}  # by node: the script of its machine, and when it was made

    async def of(self, node: str) -> str:
        """One machine has one script, however often its launch is repeated: a new token would end the token of a
        machine that exists although its launch was not answered."""
        if self._join is None:
            return ""
        script, since = self._made.get(node, ("", 0.0))
        if not script or self._now() - since >= self._join.within / 2:
            assert self.credentials is not None, "the control plane gives credentials before the start"
            token = await self.credentials.join_token(node, self._join.within)
            script = join_script(self._join, node, token)
            self._made[node] = script, self._now()
        return script

    async def forget(self, node: str) -> None:
        """Its machine has ended."""
        self._made.pop(node, None)
        if self.credentials is not None:
            await self.credentials.ended(node, revoke=self._join is not None)
