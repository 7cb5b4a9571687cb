"""Whose change it is, and why: what a request may say about itself, for the history."""

from typing import Annotated

from fastapi import Query

from dovetail.model.policy import Prose

Author = Annotated[Prose, Query(alias="by", max_length=200, description="whose change it is")]
Note = Annotated[Prose, Query(max_length=1000, description="why")]
