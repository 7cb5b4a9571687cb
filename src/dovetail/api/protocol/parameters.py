"""Parameters that several routes take, and their limits."""

from typing import Annotated

from fastapi import Query
from pydantic import Field

from dovetail.model.policy import Prose

MOST_ROWS = 1000
MAX_ID = 2**62

Author = Annotated[Prose, Query(alias="by", max_length=200, description="who makes the change, for the history")]
Note = Annotated[Prose, Query(max_length=1000, description="why, for the history")]
Namespace = Annotated[str, Query(max_length=200)]
Reason = Annotated[str, Field(max_length=500)]
