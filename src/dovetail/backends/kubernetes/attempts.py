"""Our pods: the state of each attempt, and what was reported of it.

Handlers and calls only record what they see. One task reports, in order for each attempt, and repeats a report that
failed. An attempt's end is reported once, when it is certain, and again only on request.
"""

import asyncio
import logging
import time
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from typing import Any

from dovetail.backends.contract import Phase, Report
from dovetail.backends.kubernetes.failures import FAILURES
from dovetail.backends.kubernetes.naming import KEY, STOP_REASON
from dovetail.backends.kubernetes.outcome import PodOutcome, is_never, outcome_of, short
from dovetail.kubernetes_client.reflector import ChangeKind, ObjectChange
from dovetail.model.command import task_of_key
from dovetail.model.event import BindFailed, TaskFinished, TaskStarted, TaskWaiting

AGAIN_S = 1.0
#: What a container usually waits for, for a moment.
_PASSING = frozenset({"", "ContainerCreating", "PodInitializing"})
_log = logging.getLogger(__name__)


@dataclass(slots=True)
class PodAttempt:
    key: str
    name: str
    uid: str
    version: int
    outcome: PodOutcome
    never: bool = False
    stopping: bool = False  # stopped by us, or being deleted by anyone
    stuck_since: float | None = None
    ended_at: float | None = None
    start_reported: bool = False
    end_reported: bool = False
    warning: str = ""  # of the latest warning Event about its pod
    waits_reported: str = ""

    @property
    def waits_for(self) -> str:
        """Why its container does not run yet; empty: it does, or nothing is known to be in the way."""
        outcome = self.outcome
        if outcome.started or outcome.ended or self.stopping:
            return ""
        if outcome.stuck or not self.warning:
            return outcome.stuck or (outcome.waits if outcome.waits not in _PASSING else "")
        return f"{outcome.waits}: {self.warning}" if outcome.waits else self.warning


class PodAttempts:
    def __init__(self, monotonic_s: Callable[[], float] = time.monotonic) -> None:
        self._monotonic_s = monotonic_s
        self._by_key: dict[str, PodAttempt] = {}
        self._keys: dict[str, str] = {}  # by uid: the only identification of a pod that was found missing
        self._due: dict[str, None] = {}
        self._wake = asyncio.Event()

    def get(self, key: str) -> PodAttempt | None:
        return self._by_key.get(key)

    def __iter__(self) -> Iterator[PodAttempt]:
        return iter(list(self._by_key.values()))

    def take(self, changes: list[ObjectChange]) -> None:
        """Record the changes of a watch."""
        for kind, pod in changes:
            if kind is ChangeKind.DELETED:
                self._gone(pod)
            else:
                self.note(pod, report=False)

    def take_events(self, changes: list[ObjectChange]) -> None:
        """Record what nodes warn of: volumes that cannot be mounted, sandboxes that cannot be made."""
        for kind, event in changes:
            about = event.get("involvedObject") or {}
            attempt = self._by_key.get(self._keys.get(about.get("uid") or "", ""))
            if attempt is None or kind is ChangeKind.DELETED or attempt.outcome.started:
                continue
            attempt.warning = short(f"{event.get('reason')}: {event.get('message')}")
            self._enqueue_if_changed(attempt)

    def note(self, pod: Mapping[str, Any], *, report: bool) -> PodAttempt | None:
        """Record the state of a pod. `report`: report it, even if it was reported before. None: the pod has no key."""
        metadata = pod["metadata"]
        key = (metadata.get("labels") or {}).get(KEY)
        if key is None:
            return None
        version, known = int(metadata["resourceVersion"]), self._by_key.get(key)
        if known is None or known.uid != metadata["uid"]:
            known = PodAttempt(key, metadata["name"], metadata["uid"], 0, PodOutcome(Phase.ACCEPTED))
            try:
                task_of_key(key)
            except ValueError:
                _log.warning("pod %s has our label but no key: %r", metadata["name"], key)
                return None
            before, self._by_key[key] = self._by_key.get(key), known
            self._keys[known.uid] = key
            # A key ends once: a reported end holds, whatever pod the attempt has.
            known.end_reported = before is not None and before.end_reported
        if version > known.version:  # answers and watch events may arrive out of order
            known.version = version
            self._update(known, pod)
        if report:
            self.report_again(known)
        else:
            self._enqueue_if_changed(known)
        return known

    def report_again(self, attempt: PodAttempt) -> None:
        attempt.start_reported = attempt.end_reported = False
        self._enqueue_if_changed(attempt)

    def forget(self, attempt: PodAttempt) -> None:
        if self._by_key.get(attempt.key) is attempt:
            del self._by_key[attempt.key]
        self._keys.pop(attempt.uid, None)

    def _update(self, known: PodAttempt, pod: Mapping[str, Any]) -> None:
        annotations = pod["metadata"].get("annotations") or {}
        known.never = is_never(pod)
        known.stopping = STOP_REASON in annotations or bool(pod["metadata"].get("deletionTimestamp"))
        if known.outcome.ended:
            return
        known.outcome = outcome_of(pod)
        now = self._monotonic_s()
        if known.outcome.ended:
            known.ended_at = now
        if not known.outcome.stuck:
            known.stuck_since = None
        elif known.stuck_since is None:
            known.stuck_since = now

    def _gone(self, pod: Mapping[str, Any]) -> None:
        """A pod that was removed. If it had not ended, its exit code is unknown."""
        attempt = self._by_key.get(self._keys.pop(pod["metadata"]["uid"], ""))
        if attempt is None or attempt.uid != pod["metadata"]["uid"]:
            return
        last = outcome_of(pod) if "status" in pod else attempt.outcome
        if not attempt.outcome.ended:
            lost = PodOutcome(Phase.ENDED, None, "lost: its pod was removed from the cluster", last.started)
            attempt.outcome, attempt.ended_at = last if last.ended else lost, self._monotonic_s()
            self._enqueue_if_changed(attempt)
        elif attempt.end_reported:
            self.forget(attempt)

    def _enqueue_if_changed(self, attempt: PodAttempt) -> None:
        outcome = attempt.outcome
        ended, started = outcome.ended and not attempt.end_reported, outcome.started and not attempt.start_reported
        if ended or started or (attempt.waits_for != attempt.waits_reported and not outcome.started):
            self._due[attempt.key] = None
            self._wake.set()

    async def run(self, report: Report) -> None:
        """Report until cancelled."""
        while True:
            await self._wake.wait()
            self._wake.clear()
            due, self._due = list(self._due), {}
            for key in due:
                attempt = self._by_key.get(key)
                if attempt is None:
                    continue
                try:
                    await self._report_attempt(attempt, report)
                except Exception:  # an error of the receiver must not end the reporting
                    _log.exception("report about attempt %s failed; it will be made again", key)
                    self._due[key] = None
            if self._due and not self._wake.is_set():
                await asyncio.sleep(AGAIN_S)
                self._wake.set()

    async def _report_attempt(self, attempt: PodAttempt, report: Report) -> None:
        task, key, outcome = task_of_key(attempt.key), attempt.key, attempt.outcome
        waits_for = attempt.waits_for
        if waits_for != attempt.waits_reported and not outcome.started and not outcome.ended:
            await report(TaskWaiting(task, key, waits_for))
            attempt.waits_reported = waits_for
        if outcome.started and not attempt.start_reported and not attempt.end_reported:
            await report(TaskStarted(task, key))
            attempt.start_reported = True
        if outcome.ended and not attempt.end_reported:
            words, cause = FAILURES.advised(outcome.reason), FAILURES.cause(outcome.reason)
            if outcome.refused:
                await report(BindFailed(task, key, words, cause))
            else:
                await report(TaskFinished(task, key, outcome.exit_code, words, cause))
            attempt.end_reported = True
