"""Binding a pod for kube-scheduler.

Guarantees: a pod is bound by its uid, so never another of its name; a binding whose answer was lost is looked up before
it is tried again, and nothing is tried any more once kube-scheduler was told that it failed. While it is under way the
pod counts on its node. A pod of a gang that has not started is bound only to the node that is planned for it.
"""

import asyncio
import logging
from collections.abc import Callable

from dovetail.engine.engine import Engine
from dovetail.kubernetes.client import pods
from dovetail.kubernetes.client.api import Api
from dovetail.kubernetes.client.errors import ApiError, Conflict, NotFound, ServerTrouble, Throttled, Unreachable
from dovetail.kubernetes.extender.deciding import Deciding
from dovetail.kubernetes.extender.keeping import Kept, kept_for
from dovetail.kubernetes.extender.wire import ExtenderBindingArgs, ExtenderBindingResult
from dovetail.kubernetes.scheduler.known import Known
from dovetail.kubernetes.scheduler.ledger import Ledger

_log = logging.getLogger(__name__)

FIRST_PAUSE_S = 0.05


class Binding:
    def __init__(
        self,
        api: Api,
        engine: Engine,
        ledger: Ledger,
        deciding: Deciding,
        within_s: float,
        keep_s: float,
        now: Callable[[], float],
    ) -> None:
        self._api, self._state, self._ledger, self._deciding = api, engine.state, ledger, deciding
        self._within_s, self._keep_s, self._now = within_s, keep_s, now
        self.bound = 0

    async def bind(self, args: ExtenderBindingArgs) -> ExtenderBindingResult:
        self._deciding.refresh()
        place = args.pod_namespace, args.pod_name
        known = self._ledger.pods.get(place)
        if known is not None and (known.uid != args.pod_uid or not known.waits):
            known = None  # whatever the watch has told of is not what is to be bound, or is bound already
        kept = None
        if known is not None:
            why_not = self._against(known, args.node)
            if why_not:
                return ExtenderBindingResult(error=why_not)
            kept = self._count(known, args.node)
        try:
            async with asyncio.timeout(self._within_s):
                why_not = await self._bind(args)
        except TimeoutError:
            why_not = f"not bound within {self._within_s:g} s: the API server does not answer"
        if why_not:
            _log.info("%s/%s was not bound to %s: %s", *place, args.node, why_not)
            if kept is not None:
                self._count_no_longer(kept)
        self.bound += not why_not
        return ExtenderBindingResult(error=why_not)

    def _against(self, known: Known, node: str) -> str:
        gang = known.gang
        group = None if gang is None else self._state.groups.named(*gang)
        if gang is None or group is None or group.firm or self._deciding.plans.where(known) == node:
            return ""
        return f"its gang {gang[1]} is not planned with this pod on {node}; it will be when the pod is looked at again"

    def _count(self, known: Known, node: str) -> Kept:
        until_s = self._now() + self._within_s + self._keep_s
        before = self._deciding.keeping.get(known.place)
        victim_info = self._state.victim_info(self._state.work[known.id], self._now())
        kept = kept_for(known, node, victim_info, until_s, None if before is None else before.gang)
        kept.binding = True
        self._deciding.keeping.keep(kept)
        return kept

    def _count_no_longer(self, kept: Kept) -> None:
        """The plan of its gang still has it there."""
        if kept.gang is None:
            if self._deciding.keeping.get(kept.place) is kept:
                self._deciding.keeping.drop(kept.place)
        else:
            kept.binding, kept.until_s = False, self._now() + self._keep_s

    async def _bind(self, args: ExtenderBindingArgs) -> str:
        """Why not; empty: it is bound."""
        pause_s, where, uid = FIRST_PAUSE_S, (args.pod_namespace, args.pod_name), args.pod_uid or None
        while True:
            try:
                await pods.bind(self._api, *where, args.node, uid)
            except (Unreachable, ServerTrouble, Throttled) as error:
                _log.info("binding %s/%s to %s: %s", *where, args.node, error)
            except NotFound:
                return "the pod is gone"
            except Conflict as error:
                return await pods.after_conflict(self._api, *where, args.node, uid, error)
            except ApiError as error:
                return str(error)
            else:
                return ""
            await asyncio.sleep(pause_s)
            pause_s *= 2
