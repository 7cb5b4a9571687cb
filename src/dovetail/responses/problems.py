"""The body of every answer that is not a success."""

from typing import NotRequired

from typing_extensions import TypedDict


class FieldProblem(TypedDict):
    """What is wrong with one field of the request. `accepted`: the values that are allowed; `detail`: lines to show
    below the message."""

    source: str
    line: int | None
    field: str
    message: str
    accepted: NotRequired[list[str]]
    detail: NotRequired[str]


class ProblemDocument(TypedDict):
    """A problem document (RFC 9457). `type` names the kind of problem, such as `urn:dovetail:problem:not-found`;
    `detail` says what is wrong and what to do; `errors` lists every field that is wrong."""

    type: str
    title: str
    status: int
    detail: str
    instance: str
    request_id: str
    errors: NotRequired[list[FieldProblem]]
