"""Refusals that our view of the cluster was perhaps too old for.

kube-scheduler follows the cluster by its own watches. It may know earlier than us that a pod has left, or that a node
or a pod of a gang has come; of PodGroups it knows nothing. What it saw before it asked does not make it ask again:
without a nudge the pod would wait until kube-scheduler reconsiders all pods, after five minutes.
Guarantees: when the watches have reported more since a refusal, the question is asked again here, and the pod is nudged
if it would pass now. That changes nothing and takes a small share of the time. The latest refusals are remembered.
Left to others: pods that only kube-scheduler's filters refused. It ignores nudges of those; the preempt verb waits
for the watch instead (`Extender.told_of`).
"""

from collections.abc import Callable
from typing import NamedTuple

from dovetail.kubernetes.extender.wire import ExtenderArgs
from dovetail.kubernetes_client.objects import NamespacedName

REMEMBERED = 100
#: How long one round of questions may take; the next one goes on where it ended.
ROUND_S = 0.02


class RefusalKey(NamedTuple):
    """A pod, or a whole gang that was refused for one reason."""

    place: NamespacedName
    is_gang: bool = False


class _Refusal(NamedTuple):
    args: ExtenderArgs
    reports: int  # how many reports the answer was based on


class StaleRefusals:
    def __init__(
        self,
        reports: Callable[[], int],
        passes: Callable[[RefusalKey, ExtenderArgs], bool],
        tell: Callable[[RefusalKey, ExtenderArgs], None],
        now: Callable[[], float],
    ) -> None:
        """`reports`: how often the watches have delivered changes. `tell`: nudges a pod, or the pods of a gang."""
        self._reports, self._passes, self._tell, self._now = reports, passes, tell, now
        self._refusals: dict[RefusalKey, _Refusal] = {}  # the latest last

    def add(self, key: RefusalKey, args: ExtenderArgs) -> None:
        self._refusals.pop(key, None)
        self._refusals[key] = _Refusal(args, self._reports())
        if len(self._refusals) > REMEMBERED:
            del self._refusals[next(iter(self._refusals))]

    def drop(self, key: RefusalKey) -> None:
        self._refusals.pop(key, None)

    def recheck(self) -> None:
        """Called regularly."""
        ends_at, reports = self._now() + ROUND_S, self._reports()
        outdated = [(key, one.args) for key, one in self._refusals.items() if one.reports != reports]
        for key, args in outdated:
            del self._refusals[key]
            if self._passes(key, args):
                self._tell(key, args)
            else:
                self._refusals[key] = _Refusal(args, reports)
            if self._now() > ends_at:
                break
