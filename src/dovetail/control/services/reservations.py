"""Reservations for the API: make one if its capacity is available, read it, release it."""

import time
from collections.abc import Callable

from dovetail.control.errors import Conflict, NotFound
from dovetail.control.loop.inbox import Apply
from dovetail.engine.questions.questions import Questions
from dovetail.model.event import ReservationMade, ReservationReleased
from dovetail.model.record import ReservationRecord
from dovetail.model.reservation import Reservation


class ReservationService:
    """`must_exist` raises NotFound for an unknown node."""

    def __init__(self, questions: Questions, apply: Apply, must_exist: Callable[[str], None]) -> None:
        self._questions, self._apply, self._must_exist = questions, apply, must_exist
        self.next_id = 1

    async def reserve(self, wanted: Reservation) -> ReservationRecord:
        """Reserve capacity. Raises Conflict with the reason when it is not available."""
        for name in wanted.target().nodes:
            self._must_exist(name)
        id_ = self.next_id
        record = self._checked(id_, wanted)
        self.next_id += 1
        await self._apply([ReservationMade(id_, wanted)])
        made = self._questions.reservations.get(id_)
        # Not there: the capacity was taken since the check, or its window is over already.
        return made or (record if record.end <= time.time() else self._checked(id_, wanted))

    def get(self, id_: int) -> ReservationRecord:
        found = self._questions.reservations.get(id_)
        if found is None:
            raise NotFound(f"no reservation {id_}; dovetail reserve list shows those there are")
        return found

    async def release(self, id_: int) -> None:
        self.get(id_)
        await self._apply([ReservationReleased(id_)])

    def _checked(self, id_: int, wanted: Reservation) -> ReservationRecord:
        record, problem = self._questions.reservations.check(id_, wanted, time.time())
        if problem:
            raise Conflict(problem)
        return record
