"""Scales services by what is measured: asks each as often as its definition says, and changes the number of replicas.

A service whose signal is not known stays as it is, and says so in its message.
"""

import asyncio
import time
from collections import defaultdict, deque
from dataclasses import replace

import structlog

from dovetail.control.service_controller.book import Key, ServiceBook
from dovetail.control.service_controller.signals import SignalMeter
from dovetail.services.autoscaling import Recommended, recommend, replicas_wanted
from dovetail.services.records import RolloutState, ServiceRecord

LOOK_EVERY_S = 1.0
MOST_KEPT = 10_000

log = structlog.get_logger()


class Autoscaler:
    def __init__(self, book: ServiceBook, meter: SignalMeter) -> None:
        self._book, self._meter = book, meter
        self._due: dict[Key, float] = {}
        self._recent: dict[Key, deque[Recommended]] = defaultdict(lambda: deque(maxlen=MOST_KEPT))

    async def run(self) -> None:
        """Until cancelled."""
        try:
            while True:
                await asyncio.sleep(LOOK_EVERY_S)
                await self.look(time.time())
        finally:
            await self._meter.close()

    async def look(self, now: float) -> None:
        """Measure and scale every service for which it is time."""
        records = self._book.records()
        for gone in set(self._due) - set(records):
            self._due.pop(gone)
            self._recent.pop(gone, None)
        for key, record in records.items():
            policy = record.spec.autoscale
            if policy is None or record.removed or now < self._due.get(key, 0.0):
                continue
            self._due[key] = now + policy.every
            await self._scale(record, now)

    async def _scale(self, record: ServiceRecord, now: float) -> None:
        policy, key = record.spec.autoscale, record.key
        assert policy is not None
        measured = await self._meter.measure(policy, record.spec, self._book.replicas(key), now)
        self._book.say(key, f"does not scale itself now: {measured.trouble}" if measured.trouble else "")
        if measured.per_replica is None:
            return
        # While replicas are being replaced the ready ones carry the load of all.
        ready = max(1, sum(one.ready for one in self._book.replicas(key)))
        recent = self._recent[key]
        recent.append(Recommended(now, recommend(policy, ready, measured.per_replica)))
        while now - recent[0].at > policy.calm and len(recent) > 1:
            recent.popleft()
        wanted = replicas_wanted(policy, record.replicas, recent, now)
        if wanted == record.replicas or record.rollout is RolloutState.PROGRESSING:
            return
        signal = f"{measured.per_replica:.3g} a replica, target {policy.target:g}"
        log.info("service scales itself", service=record.name, was=record.replicas, to=wanted, signal=signal)

        def change(current: ServiceRecord | None) -> ServiceRecord | None:
            if current is None or current.removed or current.replicas != record.replicas:
                return current
            return replace(current, replicas=wanted, progress_at=now)

        await asyncio.to_thread(self._book.change, key, change)
