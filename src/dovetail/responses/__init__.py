"""Response models: the JSON body of every answer of the API, defined once. One module a noun, as in `api` and `client`.

The API builds its answers as these types (mypy checks them), OpenAPI describes them, the client returns them and
`dovetail -o json` prints them. Request bodies are not here: those are the Pydantic models of `dovetail.model` and of
the routes. Neither are sentences and tables, which `api` and `cli` write.

Guarantees: an answer is plain JSON data. A later server may add fields; it never removes or renames one, and a client
ignores fields that it does not know. Times are seconds since the epoch, durations are seconds. Amounts of a resource
are in the unit that people use: cores, bytes, GPUs, pieces (`dovetail.client.amounts` formats them).

They are `TypedDict`s, because they cost nothing at run time: writing 10,000 nodes takes 28 ms with orjson alone, 270 ms
when Pydantic checks the same dictionaries, 760 ms when they are Pydantic models; and each command would import Pydantic
(0.4 s). They come from `typing_extensions`: Pydantic cannot read those of `typing` before Python 3.12.
"""

from typing import Generic, TypeVar

from typing_extensions import TypedDict

T = TypeVar("T")


class ItemList(TypedDict, Generic[T]):
    """A list. It is an object and not an array, so that fields can be added beside the items."""

    items: list[T]


class ItemPage(TypedDict, Generic[T]):
    """A list, or a page of it. `total`: of all pages. `counts`: rows of all pages, by their kind or state."""

    items: list[T]
    total: int
    counts: dict[str, int]
