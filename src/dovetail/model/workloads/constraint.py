"""Constraints on nodes: an expression that must hold, should hold, or should not hold.

An expression is text (CEL) or the same as a structure. `dovetail.constraints` defines and validates expressions; this
module has only the fields around them.
"""

from collections.abc import Iterable
from enum import StrEnum
from typing import Annotated, Any, Self

from pydantic import AfterValidator, Field, model_validator

from dovetail.model.text.quantity import Count
from dovetail.model.text.strict import AtField, Name, Strict, shared, text_format
from dovetail.model.workloads.limits import MAX_ALL_EXPRESSIONS, MAX_VALUES

Weight = Annotated[float, Field(ge=0, le=1, allow_inf_nan=False)]
#: The compiler limits the length, with a better message.
Text = Annotated[str, Field(min_length=1), text_format("expression")]


class Comparison(StrEnum):
    EQ = "eq"
    NEQ = "neq"
    LT = "lt"
    LE = "le"
    GT = "gt"
    GE = "ge"
    IN = "in"
    NOT_IN = "not_in"
    EXISTS = "exists"


def _check_list(value: Any) -> Any:
    if isinstance(value, list) and len(value) > MAX_VALUES:
        words = f"has {len(value)} values; at most {MAX_VALUES} are accepted: give the nodes that are meant one label"
        raise ValueError(words)
    return value


class Structured(Strict):
    """An expression as a structure: one comparison, or several that are combined. `left` is the operand
    (`node.labels.zone`), `right` the value; `exists` takes none."""

    left: Annotated[str, Field(min_length=1, max_length=500)] | None = None
    operator: Comparison | None = None
    right: Annotated[Any, AfterValidator(_check_list)] = None
    sub_expressions: Annotated[list["Structured"], Field(max_length=MAX_VALUES)] = shared([])
    logical_operator: Annotated[str, Field(pattern=r"^(?i:and|or|not)$")] | None = None

    @property
    def size(self) -> int:
        """About how many characters it has as text."""
        right = self.right if isinstance(self.right, list) else [self.right]
        own = len(self.left or "") + sum(len(value) if isinstance(value, str) else 8 for value in right)
        return own + sum(one.size for one in self.sub_expressions)


Expression = Text | Structured


def check_expressions(expressions: Iterable[Expression]) -> None:
    """Raises ValueError if they are too large together."""
    total = sum(len(one) if isinstance(one, str) else one.size for one in expressions)
    if total > MAX_ALL_EXPRESSIONS:
        words = f"the expressions have {total} characters together; at most {MAX_ALL_EXPRESSIONS} are accepted"
        raise ValueError(f"{words}: compare fewer labels, or give the nodes that are meant one label")


class ConstraintKind(StrEnum):
    REQUIRE = "require"
    PREFER = "prefer"
    AVOID = "avoid"


class Constraint(Strict):
    """One of `require`, `prefer` and `avoid`. A preference counts with its `weight`. With a `priority` it is required
    at first and dropped only if nothing fits, the lowest number first."""

    name: Name | None = None
    require: Expression | None = None
    prefer: Expression | None = None
    avoid: Expression | None = None
    weight: Weight = 1.0
    priority: Annotated[Count, Field(ge=1, le=100)] | None = None

    @property
    def kind(self) -> ConstraintKind:
        return next(kind for kind in ConstraintKind if getattr(self, kind) is not None)

    @property
    def expression(self) -> Expression:
        found: Expression = getattr(self, self.kind)
        return found

    @model_validator(mode="after")
    def _check_one_kind(self) -> Self:
        given = [kind for kind in ConstraintKind if getattr(self, kind) is not None]
        if len(given) != 1:
            raise ValueError(f"needs exactly one of require, prefer and avoid, got {' and '.join(given) or 'none'}")
        if self.require is not None:
            for field in ("weight", "priority"):
                if field in self.model_fields_set:
                    raise AtField((field,), "requires prefer or avoid: a required constraint has no weight or priority")
        return self
