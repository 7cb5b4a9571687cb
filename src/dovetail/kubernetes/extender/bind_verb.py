"""The bind verb: binds a pod for kube-scheduler.

Guarantees: a pod is bound by its uid, so never a later pod of the same name; a binding whose answer was lost is looked
up before it is repeated, and nothing is tried after kube-scheduler was told of a failure. Meanwhile the pod counts on
its node. A pod of a gang that has not started is bound only to its planned node.
"""

import asyncio
import logging
from collections.abc import Callable

from dovetail.kubernetes.extender.filter_verb import FilterVerb
from dovetail.kubernetes.extender.held_pods import HeldPod, held_pod
from dovetail.kubernetes.extender.wire import ExtenderBindingArgs, ExtenderBindingResult
from dovetail.kubernetes.scheduler.cluster_informer import ClusterInformer
from dovetail.kubernetes.scheduler.tracked_pod import TrackedPod
from dovetail.kubernetes_client import pods
from dovetail.kubernetes_client.api import Api
from dovetail.model.backoff import Backoff

_log = logging.getLogger(__name__)

FIRST_PAUSE_S = 0.05


class BindVerb:
    def __init__(
        self,
        api: Api,
        informer: ClusterInformer,
        filter_verb: FilterVerb,
        within_s: float,
        keep_s: float,
        now: Callable[[], float],
    ) -> None:
        self._api, self._filter_verb = api, filter_verb
        self._questions, self._tracker = informer.questions.pods, informer.tracker
        self._within_s, self._keep_s, self._now = within_s, keep_s, now
        self.bound = 0

    async def bind(self, args: ExtenderBindingArgs) -> ExtenderBindingResult:
        self._filter_verb.refresh()
        place = args.pod_namespace, args.pod_name
        known = self._tracker.pods.get(place)
        if known is not None and (known.uid != args.pod_uid or not known.waits):
            known = None  # it is another pod, or is bound already
        kept = None
        if known is not None:
            why_not = self._against(known, args.node)
            if why_not:
                return ExtenderBindingResult(error=why_not)
            kept = self._count(known, args.node)
        try:
            async with asyncio.timeout(self._within_s):
                pod = args.pod_namespace, args.pod_name, args.node, args.pod_uid or None
                why_not = await pods.bind_surely(self._api, *pod, Backoff(FIRST_PAUSE_S))
        except TimeoutError:
            why_not = f"not bound within {self._within_s:g} s: the API server does not answer"
        if why_not:
            _log.info("%s/%s was not bound to %s: %s", *place, args.node, why_not)
            if kept is not None:
                self._count_no_longer(kept)
        self.bound += not why_not
        return ExtenderBindingResult(error=why_not)

    def _against(self, known: TrackedPod, node: str) -> str:
        gang = known.gang
        group = None if gang is None else self._questions.gang(*gang)
        if gang is None or group is None or group.firm or self._filter_verb.plans.where(known) == node:
            return ""
        return f"its gang {gang[1]} is not planned with this pod on {node}; it will be when the pod is looked at again"

    def _count(self, known: TrackedPod, node: str) -> HeldPod:
        now = self._now()
        before = self._filter_verb.held.get(known.place)
        until_s = now + self._within_s + self._keep_s
        kept = held_pod(known, node, now, until_s, None if before is None else before.gang)
        kept.binding = True
        self._filter_verb.held.keep(kept)
        return kept

    def _count_no_longer(self, kept: HeldPod) -> None:
        """The gang's plan keeps the node for it."""
        if kept.gang is None:
            if self._filter_verb.held.get(kept.place) is kept:
                self._filter_verb.held.drop(kept.place)
        else:
            kept.binding, kept.until_s = False, self._now() + self._keep_s
