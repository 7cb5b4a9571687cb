"""What backends that launch machines ask the control plane for: tokens for agents, and which agents are expected."""

from dovetail.control.services.access import AccessService
from dovetail.control.services.nodes import NodeService


class MachineCredentials:
    """Implements `dovetail.backends.contract.NodeCredentials`. `nodes` is set before any backend starts."""

    def __init__(self, access: AccessService) -> None:
        self._access = access
        self.nodes: NodeService | None = None

    async def join_token(self, node: str, valid_s: float) -> str:
        return await self._access.machine_token(node, valid_s)

    async def ended(self, node: str, *, revoke: bool) -> None:
        if self.nodes is not None:
            self.nodes.expect_no_more(node)
        if revoke:
            await self._access.forget_node(node)
