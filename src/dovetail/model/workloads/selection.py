"""Node selection: label selectors, node affinity, taints and tolerations."""

import re
from enum import StrEnum
from typing import Annotated, Any, Self

from pydantic import AfterValidator, BeforeValidator, Field, model_validator

from dovetail.model.text.quantity import Count, Duration
from dovetail.model.text.strict import Strict, is_word, shared, shown, text_format
from dovetail.model.workloads.limits import MAX_LABELS, MAX_MATCHES, MAX_NODE_LABELS, MAX_TERMS, MAX_VALUES

MAX_LABEL = 253
_WHOLE = re.compile(r"[+-]?\d{1,18}", re.ASCII)  # fits 64 bits, like label columns


def _check_label(value: str) -> str:
    if not is_word(value, MAX_LABEL):
        raise ValueError(f"{shown(value)} is not a label key; use 1 to {MAX_LABEL} printable characters, no spaces")
    return value


def as_text(value: Any) -> Any:
    """YAML reads `true`, `3` and `1.5` as other types; in a label they are text."""
    if isinstance(value, bool):
        return "true" if value else "false"
    return str(value) if isinstance(value, int | float) else value


#: Before a text that YAML may have read as a number.
AS_TEXT = BeforeValidator(as_text, json_schema_input_type=str | int | float | bool)
LabelKey = Annotated[str, AfterValidator(_check_label), text_format("label-key", least=1, most=MAX_LABEL)]


def _check_value(value: str) -> str:
    if not value.isprintable():
        raise ValueError(f"{shown(value)} holds characters that cannot be printed; a label is one line of plain text")
    return value


LabelValue = Annotated[
    str, AS_TEXT, Field(max_length=MAX_LABEL), AfterValidator(_check_value), text_format("label-value")
]
Labels = Annotated[dict[LabelKey, LabelValue], Field(max_length=MAX_LABELS)]
NodeLabels = Annotated[dict[LabelKey, LabelValue], Field(max_length=MAX_NODE_LABELS)]


def _word(value: Any, choices: type[StrEnum]) -> Any:
    """Match a choice case-insensitively: `equal`, `Equal`, `noSchedule`."""
    if isinstance(value, str):
        for choice in choices:
            if choice.value.lower() == value.lower():
                return choice
    return value


class Operator(StrEnum):
    IN = "In"
    NOT_IN = "NotIn"
    EXISTS = "Exists"
    DOES_NOT_EXIST = "DoesNotExist"
    GT = "Gt"
    LT = "Lt"


class LabelMatch(Strict):
    """One comparison of one node label."""

    key: LabelKey
    operator: Annotated[Operator, BeforeValidator(lambda v: _word(v, Operator))]
    values: Annotated[list[LabelValue], Field(max_length=MAX_VALUES)] = shared([])

    @model_validator(mode="after")
    def _check_values(self) -> Self:
        count = len(self.values)
        if self.operator in (Operator.IN, Operator.NOT_IN) and not count:
            raise ValueError(f"{self.operator} needs at least one value")
        if self.operator in (Operator.EXISTS, Operator.DOES_NOT_EXIST) and count:
            raise ValueError(f"{self.operator} takes no values, got {count}")
        if self.operator in (Operator.GT, Operator.LT):
            if count != 1:
                raise ValueError(f"{self.operator} takes exactly one whole number, got {count} values")
            if not _WHOLE.fullmatch(self.values[0]):
                raise ValueError(f"{self.operator} compares whole numbers, not {shown(self.values[0])}")
        return self


class NodeTerm(Strict):
    """All its matches must hold."""

    match: list[LabelMatch] = Field(min_length=1, max_length=MAX_MATCHES)

    @property
    def size(self) -> int:
        """How many values it compares with."""
        return sum(len(match.values) for match in self.match)


class WeightedTerm(NodeTerm):
    weight: Annotated[Count, Field(ge=1, le=100)] = 1


class Preference(WeightedTerm):
    """A preference. With a `priority` it is required at first and dropped only if nothing fits: the lowest number
    first, one priority at a time."""

    priority: Annotated[Count, Field(ge=1, le=100)] | None = None


class NodeAffinity(Strict):
    """Node labels that the task requires (any one of `required`), prefers or avoids."""

    required: Annotated[list[NodeTerm], Field(max_length=MAX_TERMS)] = shared([])
    preferred: Annotated[list[Preference], Field(max_length=MAX_TERMS)] = shared([])
    avoided: Annotated[list[WeightedTerm], Field(max_length=MAX_TERMS)] = shared([])

    @property
    def size(self) -> int:
        """How many values its terms compare with."""
        return sum(term.size for terms in (self.required, self.preferred, self.avoided) for term in terms)


class Effect(StrEnum):
    NO_SCHEDULE = "NoSchedule"
    PREFER_NO_SCHEDULE = "PreferNoSchedule"
    NO_EXECUTE = "NoExecute"


EffectField = Annotated[Effect, BeforeValidator(lambda v: _word(v, Effect))]


class Taint(Strict):
    """Repels tasks from a node unless they tolerate it."""

    key: LabelKey
    """Its key."""
    value: LabelValue = ""
    """Its value."""
    effect: EffectField
    """What it does to tasks that do not tolerate it."""

    def __str__(self) -> str:
        return f"{self.key}{'=' + self.value if self.value else ''}:{self.effect}"


class TolerationOperator(StrEnum):
    EQUAL = "Equal"
    EXISTS = "Exists"
    GT = "Gt"  # the taint's value is a larger whole number
    LT = "Lt"


class Toleration(Strict):
    """Allows a task on a tainted node. Without a key it matches all taints; without an effect, all effects."""

    key: LabelKey | None = None
    operator: Annotated[TolerationOperator, BeforeValidator(lambda v: _word(v, TolerationOperator))] = (
        TolerationOperator.EQUAL
    )
    value: LabelValue = ""
    effect: EffectField | None = None
    toleration_seconds: Duration | None = None

    @model_validator(mode="after")
    def _check_operator(self) -> Self:
        if self.key is None and self.operator is not TolerationOperator.EXISTS:
            raise ValueError("a toleration without a key needs operator: Exists")
        if self.operator is TolerationOperator.EXISTS and self.value:
            raise ValueError("operator Exists takes no value")
        numeric = self.operator in (TolerationOperator.GT, TolerationOperator.LT)
        if numeric and not _WHOLE.fullmatch(self.value):
            raise ValueError(f"operator {self.operator} compares whole numbers, not {shown(self.value)}")
        if self.toleration_seconds is not None and self.effect not in (None, Effect.NO_EXECUTE):
            raise ValueError("toleration_seconds requires effect: NoExecute")
        return self
