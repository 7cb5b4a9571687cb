"""Work that has time waits for cheaper nodes; what is too dear now, and until when, `placement.market.waiting` says."""

from collections.abc import Iterator

from dovetail.cluster.arrays import B1, Rows
from dovetail.cluster.change_log import OFFERS
from dovetail.cluster.views.view import View
from dovetail.model.reason import Refused
from dovetail.placement.contract import OWN_NODE, Concern, Filter, GroupRefusal, Request

DEARER = "costs more than nodes that may come free before it has to start"
LATE = "would end after its deadline there"


class WaitsForCheaperFilter(Filter):
    """Refuses nodes that cost more than those the task can still wait for, and nodes that would be too slow."""

    name = "waits_for_cheaper"
    reason = "waits_for_cheaper"
    reads = frozenset({OFFERS})
    wakes_on = OWN_NODE  # and a timer, at the moment when it has to start
    concern = Concern.MOMENT

    def applies(self, request: Request) -> bool:
        return request.too_dear is not None

    def mask(self, request: Request, view: View) -> B1 | bool:
        assert request.too_dear is not None
        found: B1 = ~request.too_dear.refused[view.rows]
        return found

    def refuse(self, request: Request, view: View, position: int) -> Refused:
        assert request.too_dear is not None
        late = bool(request.too_dear.late[view.rows[position]])
        return Refused(self.name, self.reason, LATE if late else DEARER)

    def refuse_many(self, request: Request, view: View, positions: Rows) -> Iterator[GroupRefusal]:
        assert request.too_dear is not None
        late = request.too_dear.late[view.rows[positions]]
        for message, found in ((LATE, positions[late]), (DEARER, positions[~late])):
            if len(found):
                yield GroupRefusal(found, message)
