"""What is asked of a list: which rows, in which order, which part of them."""

from __future__ import annotations

from typing import Any


def page_params(search: str, sort: str, limit: int | None, offset: int) -> dict[str, Any]:
    """As the routes of lists take it; what is not asked for is left out."""
    return {"search": search or None, "sort": sort or None, "limit": limit, "offset": offset or None}
