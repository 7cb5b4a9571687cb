"""The machine of the control plane as a node: it takes work only while there is no other backend, unless asked to.

Without any settings the server runs jobs on its own machine, so that a first try needs nothing else.
That is a risk once there are machines for the work. So the first backend that is added cordons the own node, and the
removal of the last one uncordons it. A backend that the settings name, and a node that an operator uncordons, stay.
"""

from collections.abc import Mapping

from dovetail.control.backends.member import Member
from dovetail.control.loop.inbox import Apply
from dovetail.control.settings import REGISTERED, Settings
from dovetail.engine.questions.node_questions import NodeQuestions
from dovetail.model.event import Event, NodeCordoned

LOCAL = "local"
STEPPED_BACK = "this is the machine of the control plane, and other backends run work now"


class OwnMachine:
    def __init__(self, settings: Settings, nodes: NodeQuestions, members: Mapping[str, Member], apply: Apply) -> None:
        self._is_default = "backends" not in settings.model_fields_set
        self._nodes, self._members, self._apply = nodes, members, apply

    def stepped_back(self) -> list[str]:
        """Its node, if that takes no work because of other backends."""
        return [name for name in self._nodes.of_backend(LOCAL) if self._nodes.reason(name) == STEPPED_BACK]

    async def step_back(self, added: str) -> None:
        """A backend was added: if it is the first, the own node takes no new work. What runs there runs on."""
        if self._is_default and added in self._others() and len(self._others()) == 1:
            await self._cordon(self._nodes.of_backend(LOCAL), cordoned=True)

    async def return_if_alone(self) -> None:
        """A backend was removed: if none is left, the own node takes work again."""
        if self._is_default and not self._others():
            await self._cordon(self.stepped_back(), cordoned=False)

    def _others(self) -> list[str]:
        return [name for name, member in self._members.items() if member.kind not in (LOCAL, REGISTERED)]

    async def _cordon(self, nodes: list[str], *, cordoned: bool) -> None:
        events: list[Event] = [NodeCordoned(node, cordoned, STEPPED_BACK if cordoned else "") for node in nodes]
        if events:
            await self._apply(events)
