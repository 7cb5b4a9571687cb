"""Timestamps as the API writes them: `2026-01-01T00:01:39Z`, with or without fractions of a second."""

from datetime import datetime


def seconds(text: str | None, otherwise: float) -> float:
    """Since 1970; `otherwise` where there is no timestamp."""
    return otherwise if not text else datetime.fromisoformat(text).timestamp()
