"""Notes of people and programs in the history: deployments, maintenance, chapters of a demo. Charts mark them."""

from typing import Annotated

from fastapi import Request
from pydantic import Field

from dovetail.api.protocol.body import model_in, plane_of
from dovetail.api.protocol.openapi import Routes, takes
from dovetail.api.protocol.replies import CreatedJson
from dovetail.model.text.strict import Strict
from dovetail.responses.system import WrittenNote

router = Routes(tags=["events"])

_LINE = r"^[^\x00-\x1f\x7f-\x9f]*[^\s\x00-\x1f\x7f-\x9f][^\x00-\x1f\x7f-\x9f]*$"


class NoteWish(Strict):
    """`text`: one line."""

    text: Annotated[str, Field(min_length=1, max_length=200, pattern=_LINE)]


@router.post("/notes", openapi_extra=takes(NoteWish))
async def write_note(request: Request) -> CreatedJson[WrittenNote]:
    """Write a line of kind `note` into the history. `GET /events?kind=note` has them; the dashboard marks them in its
    charts. They go with the rest of the history when it is too old."""
    text = (await model_in(request, NoteWish)).text.strip()
    return CreatedJson({"at": await plane_of(request).note(text), "text": text})
