"""The route. A plain function: the server runs it on a thread, where reading a table may block."""

from fastapi import APIRouter, Request

from dovetail_placement_counts.counts import read_counts

router = APIRouter(tags=["placement counts"])


@router.get("")
def placement_counts(request: Request) -> dict[str, int]:
    """By node: how many tasks were placed there."""
    tables = request.app.state.plane.subsystems.tables("placement_counts")
    return {} if tables is None else read_counts(tables)
