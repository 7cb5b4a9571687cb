"""Predicted starts as the API sends them: moments in seconds since the epoch, null where nobody can tell."""

from typing import Any

from dovetail.control.plane import ControlPlane
from dovetail.engine.pieces import Pieces
from dovetail.engine.scheduling.forecast import StartGuess


def start_fields(guess: StartGuess | None) -> dict[str, Any]:
    if guess is None:
        return {"starts_at": None, "starts_early": None, "starts_late": None}
    return {
        "starts_at": round(guess.expected, 3),
        "starts_early": round(guess.early, 3),
        "starts_late": round(guess.late, 3),
    }


def start_of(plane: ControlPlane, workload: int, now: float) -> Pieces[dict[str, Any]]:
    """Of one workload; only work that waits has a start to predict."""
    live = plane.engine.state.work.get(workload)
    if live is None or not (live.waiting or live.after):
        return start_fields(None)
    guesses = yield from plane.questions.starts_pieces(now)
    return start_fields(guesses.get(workload))
