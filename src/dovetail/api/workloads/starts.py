"""Predicted starts as the API sends them: seconds since the epoch, null where the start cannot be predicted."""

from dovetail.engine.questions.plan_questions import StartGuess
from dovetail.responses.workloads import PredictedStart


def start_fields(guess: StartGuess | None) -> PredictedStart:
    if guess is None:
        return {"starts_at": None, "starts_early": None, "starts_late": None}
    return {
        "starts_at": round(guess.expected, 3),
        "starts_early": round(guess.early, 3),
        "starts_late": round(guess.late, 3),
    }
