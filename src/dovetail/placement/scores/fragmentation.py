"""Against fragmentation: how much free GPU capacity becomes unusable for the expected workload mix if the task goes
there.

Points are minus the GPUs lost (`fragmentation.unusable`, after minus before), so they are not in [0, 1]: 0 where none
is lost, positive where the task takes capacity that nothing else could use. For a share of a GPU the best device of the
node counts, and the task gets that device. Without an outlook all nodes are equal.
"""

from dovetail.cluster.arrays import B1, F8
from dovetail.cluster.change_log import DEVICES, RESOURCES
from dovetail.cluster.devices import Slots
from dovetail.cluster.views.view import View
from dovetail.model.device import WHOLE
from dovetail.model.resources import CPU, MEMORY
from dovetail.placement.contract import Request, Score
from dovetail.placement.fragmentation.node_arrays import (
    Candidates,
    KnownLosses,
    NodeArrays,
    after_one_more,
    of_view,
    one_of_each,
)
from dovetail.placement.fragmentation.unusable import unusable


class FragmentationScore(Score):
    name = "fragmentation"
    reads = frozenset({RESOURCES, DEVICES})
    uses_outlook = True
    chooses_devices = True
    looks_ahead = False  # which device the next copy gets depends on those before it

    def __init__(self) -> None:
        self._known = KnownLosses()

    def epoch(self, request: Request) -> int:
        return 0 if request.outlook is None else request.outlook.typical_epoch

    def points(self, request: Request, view: View) -> F8 | float:
        typical = None if request.outlook is None else request.outlook.typical
        if typical is None or not view.device_slots:
            return 0.0
        nodes = of_view(view)
        suitable = self._suitable(request, view)
        rows = view.rows
        stale = self._known.stale(typical, nodes, rows, view.width)
        alike = one_of_each(nodes)
        asked = nodes if alike is None else nodes.take(alike[0])
        allowed = suitable if alike is None or suitable is None else suitable[alike[0]]
        found = self._after(request, asked, allowed)
        new = found.nodes
        if len(stale):  # before and after in one go: what it costs is the number of calls, not of nodes
            old = nodes.take(stale)
            new = old.joined(new)
        losses = unusable(typical, view.device_kind_list, new)
        if len(stale):
            self._known.put(rows[stale], old, losses[: len(stale)])
            losses = losses[len(stale) :]
        lowest = found.least(losses, asked)
        if alike is not None:
            lowest = lowest[alike[1]]
        points: F8 = (self._known.losses[rows] - lowest) / WHOLE
        return points

    def devices(self, request: Request, view: View) -> Slots | None:
        """The device for a share on the only node of the view; None: the device table chooses."""
        ask = request.shape.gpus
        typical = None if request.outlook is None else request.outlook.typical
        if ask is None or ask.count or typical is None:
            return None
        nodes = of_view(view)
        if len(ask.models) > 1 and nodes.kinds is not None:
            return None  # which model comes first is the table's to keep
        found = self._after(request, nodes, self._suitable(request, view))
        assert found.slot is not None
        if len(found.row) < 2:
            return (int(found.slot[0]),) if len(found.row) else None
        losses = unusable(typical, view.device_kind_list, found.nodes)
        return (int(found.slot[losses.argmin()]),)

    @staticmethod
    def _after(request: Request, nodes: NodeArrays, suitable: B1 | None) -> Candidates:
        ask, needs = request.shape.gpus, request.needs
        count, share = (0, 0) if ask is None else (ask.count, ask.share)
        return after_one_more(nodes, suitable, needs.get(CPU, 0.0), needs.get(MEMORY, 0.0), count, share)

    @staticmethod
    def _suitable(request: Request, view: View) -> B1 | None:
        ask = request.shape.gpus
        return None if ask is None else view.suitable_devices(ask)
