"""The places that a plan compares, as a table of 80 columns."""

from tests.unit.cli.answers import drawn

from dovetail.cli.render.decision import MOST_PLACES, plan_view
from dovetail.responses.questions import PlanAnswer, PlannedPlace

NOW = 1_800_000_000.0


def place(number: int, **fields: object) -> PlannedPlace:
    row: PlannedPlace = {
        "backend": "aws",
        "kind": "p3.2xlarge",
        "place": "aws/us-east-1",
        "spot": False,
        "node": f"p3-{number}",
        "nodes": 4,
        "cost": 3.16,
        "currency": "USD",
        "grams": 500.0,
        "start": NOW + 120,
        "finish": NOW + 3720,
        "chosen": False,
        "why_not": "costs 3.16 USD more",
    }
    return {**row, **fields}  # type: ignore[typeddict-item]


def plan(places: list[PlannedPlace]) -> PlanAnswer:
    return {
        "name": "train",
        "namespace": "default",
        "tasks": [],
        "placed": 0,
        "unplaced": 0,
        "queue": "default",
        "over_quota": None,
        "displaces": None,
        "market": places,
        "planned_at": NOW,
        "core": [],
        "core_exact": True,
        "waits_for": "",
        "suggestions": [],
        "answer": "train: 1 task fits",
    }


def test_the_chosen_place_is_marked_and_the_others_say_why_not() -> None:
    own = place(0, backend="lab", kind="", node="own-1", cost=0.0, start=NOW, chosen=True, why_not="")
    full = place(1, spot=True, start=None, finish=None, why_not="no room")
    text = drawn(plan_view(plan([own, full, place(2)])))
    lines = [" ".join(line.split()) for line in text.splitlines()]
    assert "✔ lab own-1 0.00 USD now +1h02m" in " ".join(lines)
    assert "aws p3.2xlarge spot 3.16 USD - - no room" in lines
    assert "aws p3.2xlarge 3.16 USD +2m00s +1h02m costs 3.16 USD more" in lines
    assert max(map(len, text.splitlines())) <= 80


def test_a_long_list_ends_with_how_many_more_there_are() -> None:
    places = [place(number) for number in range(MOST_PLACES + 3)]
    assert "3 more places" in drawn(plan_view(plan(places)))
    assert "more places" not in drawn(plan_view(plan(places), wide=True))
