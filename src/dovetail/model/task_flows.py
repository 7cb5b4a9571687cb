"""Bytes that a task exchanged with others, as its machine counted them."""

from typing import Annotated

from pydantic import Field

from dovetail.model.text.strict import Host, Strict, shared

MOST_FLOWS = 1000  # of one task in one report: the largest
MOST_LISTENS = 100

PortNumber = Annotated[int, Field(ge=1, le=65535)]
Bytes = Annotated[int, Field(ge=0, le=2**62)]


class Flow(Strict):
    """To whom the task has connected, and how much went each way since the last report."""

    address: Host
    port: PortNumber
    sent: Bytes
    received: Bytes


class TaskFlows(Strict):
    """`listens`: ports on which the task takes connections. `flows`: of connections that the task has made; those that
    others made to it are in their reports."""

    listens: Annotated[list[PortNumber], Field(max_length=MOST_LISTENS)] = shared([])
    flows: Annotated[list[Flow], Field(max_length=MOST_FLOWS)] = shared([])
