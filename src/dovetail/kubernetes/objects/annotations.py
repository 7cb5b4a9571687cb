"""What a pod may ask of us beyond the API of Kubernetes, in annotations: a gang, how it lies in the network, whom it
talks to, and constraints in our own words.

    scheduling.dovetail.dev/gang: training          with whom it starts, and
    scheduling.dovetail.dev/gang-min: "8"           how many of them at least
    scheduling.dovetail.dev/topology: "required: topology.kubernetes.io/zone"
    scheduling.dovetail.dev/traffic: "[{to: db, mbps: 4000}]"
    scheduling.dovetail.dev/workload: web           by which name others talk to it
    scheduling.dovetail.dev/constraints: "[{require: 'node.labels.disk == \"ssd\"'}]"

The values are YAML, as a workload of ours has them under the same names. Guarantees: what cannot be understood raises
`AnnotationError`, in words that name the annotation; nothing is passed over in silence.
"""

from collections.abc import Mapping
from functools import lru_cache
from typing import Annotated, Any, NamedTuple, Self

from pydantic import Field, model_validator

from dovetail.constraints.error import ExpressionError
from dovetail.constraints.programs.program import compile_node
from dovetail.constraints.programs.structure import text_of
from dovetail.model.requests.asks import ConstraintAsk, Layout
from dovetail.model.requests.shaping import layout_of
from dovetail.model.text.complaint import Invalid
from dovetail.model.text.document import Document, read_documents
from dovetail.model.text.quantity import Count
from dovetail.model.text.reading import check_documents
from dovetail.model.text.strict import AtField, Name, Strict, shared
from dovetail.model.workloads.affinity import Traffic
from dovetail.model.workloads.arrangement import Arrangement
from dovetail.model.workloads.constraint import Constraint
from dovetail.model.workloads.limits import MAX_CONSTRAINTS

PREFIX = "scheduling.dovetail.dev/"
MAX_BYTES = 64 * 2**10
_KEPT = 4096


class AnnotationError(ValueError):
    """The pod cannot be placed as written; names the annotation and the problem."""


class PodAnnotations(Strict):
    gang: Name | None = None
    gang_min: Annotated[Count, Field(ge=1)] | None = None
    topology: Arrangement | None = None
    traffic: Annotated[list[Traffic], Field(max_length=100)] = shared([])
    workload: Name | None = None
    constraints: Annotated[list[Constraint], Field(max_length=MAX_CONSTRAINTS)] = shared([])

    @model_validator(mode="after")
    def _least_of_a_gang(self) -> Self:
        if self.gang is not None and self.gang_min is None:
            raise AtField(("gang_min",), "is missing: how many pods of the gang have to start together?")
        return self


class AnnotatedAsk(NamedTuple):
    """`gang_min`: 0 where a PodGroup gives the size of the gang."""

    gang: str = ""
    gang_min: int = 0
    layout: Layout | None = None
    traffic: tuple[tuple[str, int], ...] = ()
    workload: str = ""
    wants: tuple[ConstraintAsk, ...] = ()


NOTHING = AnnotatedAsk()


def own_of(annotations: Mapping[str, str] | None) -> tuple[tuple[str, str], ...]:
    """The annotations that Dovetail reads."""
    if not annotations:
        return ()
    return tuple(sorted([item for item in annotations.items() if item[0].startswith(PREFIX)]))


@lru_cache(maxsize=_KEPT)
def asked_in(own: tuple[tuple[str, str], ...]) -> AnnotatedAsk:
    """Raises AnnotationError."""
    try:
        data = {key.removeprefix(PREFIX).replace("-", "_"): _value(key, text) for key, text in own}
        read = check_documents(PodAnnotations, [Document(data, "annotations")])[0]
        wants = tuple(_want(one) for one in read.constraints)
    except Invalid as invalid:
        first = invalid.complaints[0]
        field = first.field.replace("gang_min", "gang-min")
        words = first.message.replace("gang_min", "gang-min")
        raise AnnotationError(f"annotation {PREFIX}{field}: {words}") from None
    except ExpressionError as error:
        raise AnnotationError(f"annotation {PREFIX}constraints: {error}") from None
    return AnnotatedAsk(
        gang=read.gang or "",
        gang_min=read.gang_min or 0,
        layout=None if read.topology is None else layout_of(read.topology),
        traffic=tuple(sorted((one.to, one.mbps) for one in read.traffic)),
        workload=read.workload or "",
        wants=wants,
    )


def _value(key: str, text: str) -> Any:
    try:
        documents = read_documents(text, key, MAX_BYTES)
    except Invalid as invalid:
        first = invalid.complaints[0]
        where = "" if first.line is None else f"line {first.line}: "
        raise AnnotationError(f"annotation {key}: {where}{first.message}") from None
    if len(documents) != 1:
        raise AnnotationError(f"annotation {key}: needs one value, got {len(documents)}")
    return documents[0].data


def _want(one: Constraint) -> ConstraintAsk:
    text = text_of(one.expression)
    compile_node(text)
    return ConstraintAsk(one.kind, text, one.weight, one.priority, "")
