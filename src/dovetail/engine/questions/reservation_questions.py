"""Which reservations there are, and whether one could be made."""

from dovetail.engine.reservations.reservations import check
from dovetail.engine.state.engine_state import EngineState
from dovetail.model.record import ReservationRecord
from dovetail.model.reservation import Reservation


class ReservationQuestions:
    def __init__(self, state: EngineState) -> None:
        self._state = state

    def get(self, id_: int) -> ReservationRecord | None:
        return self._state.reservations.get(id_)

    def all(self) -> list[ReservationRecord]:
        return list(self._state.reservations.values())

    def check(self, id_: int, wanted: Reservation, now: float) -> tuple[ReservationRecord, str]:
        """The reservation as it would be made now, and why it cannot be; empty when it can."""
        return check(self._state, id_, wanted, now)
