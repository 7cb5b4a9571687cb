"""The doors of reservations: room in advance, taken if it can be met, and given back."""

import time
from collections.abc import Awaitable, Callable

from dovetail.control.errors import Conflict, NotFound
from dovetail.engine.reservations import reservations
from dovetail.engine.state.engine_state import EngineState
from dovetail.model.event import Event, ReservationMade, ReservationReleased
from dovetail.model.record import ReservationRecord
from dovetail.model.reservation import Reservation


class ReservationDoors:
    """`told` returns when events are durable; `must_exist` raises NotFound for a node that nobody knows."""

    def __init__(
        self,
        state: EngineState,
        told: Callable[[list[Event]], Awaitable[None]],
        must_exist: Callable[[str], None],
    ) -> None:
        self._state, self._told, self._must_exist = state, told, must_exist
        self._next = 1

    def restore(self, next_reservation: int) -> None:
        """Ids go on from there."""
        self._next = next_reservation

    async def reserve(self, wanted: Reservation) -> ReservationRecord:
        """Room in advance. Raises Conflict with the reason when it cannot be met."""
        for name in wanted.target().nodes:
            self._must_exist(name)
        id_ = self._next
        record = self._checked(id_, wanted)
        self._next += 1
        await self._told([ReservationMade(id_, wanted)])
        made = self._state.reservations.get(id_)
        # Not there: the room was taken since it was looked at, or the time it was asked for is over already.
        return made or (record if record.end <= time.time() else self._checked(id_, wanted))

    def get(self, id_: int) -> ReservationRecord:
        found = self._state.reservations.get(id_)
        if found is None:
            raise NotFound(f"no reservation {id_}")
        return found

    async def release(self, id_: int) -> None:
        self.get(id_)
        await self._told([ReservationReleased(id_)])

    def _checked(self, id_: int, wanted: Reservation) -> ReservationRecord:
        record, problem = reservations.check(self._state, id_, wanted, time.time())
        if problem:
            raise Conflict(problem)
        return record
