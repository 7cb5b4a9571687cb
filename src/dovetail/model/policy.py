"""Policies: named constraints that apply to many workloads.

A policy holds what a workload could define itself: constraints, affinity, spread, conflicts. It applies to the
namespaces, services and workloads it is attached to, and to workloads that name it in `policies`. A constraint of a
policy may change with the cluster: each `adjust` rule says when, until when, and how.

`dovetail.constraints` validates the expressions; the engine applies the policy.
"""

import re
from collections.abc import Callable, Iterator, Sequence
from functools import cached_property
from typing import Annotated, Self

from pydantic import AfterValidator, Field, model_validator

from dovetail.model.text.quantity import Count
from dovetail.model.text.strict import MAX_NAME, AtField, Name, Strict, check_name, shared, shown, text_format
from dovetail.model.workloads.affinity import Affinity, ConflictField, Spread
from dovetail.model.workloads.constraint import Constraint, ConstraintKind, Expression, Text, Weight, check_expressions
from dovetail.model.workloads.limits import MAX_CONSTRAINTS

MAX_ATTACHMENTS = 1000
MAX_ADJUSTMENTS = 10

_PATTERN = re.compile(r"[A-Za-z0-9*?][A-Za-z0-9*?._-]{0,99}", re.ASCII)


def _check_pattern(value: str) -> str:
    if not _PATTERN.fullmatch(value):
        raise ValueError(f"{shown(value)} is no pattern of namespaces; write a name, or one with * such as team-*")
    return value


def _check_place(value: str) -> str:
    """`NAME`, or `NAMESPACE/NAME`."""
    for part in value.split("/", 1):
        check_name(part)
    return value


def check_prose(value: str) -> str:
    """Free text of one or several lines."""
    if not value.replace("\n", "").replace("\t", "").isprintable():
        raise ValueError("holds a control character; write plain text")
    return value


Prose = Annotated[str, AfterValidator(check_prose), text_format("prose")]
Pattern = Annotated[str, AfterValidator(_check_pattern), text_format("name-pattern", least=1, most=100)]
Place = Annotated[str, AfterValidator(_check_place), text_format("place", least=1, most=2 * MAX_NAME + 1)]


class PolicyScope(Strict):
    """What a policy is attached to: all work in these namespaces, and these services and workloads. A bare name applies
    in every namespace, `NAMESPACE/NAME` in that one."""

    namespaces: Annotated[list[Pattern], Field(max_length=MAX_ATTACHMENTS)] = shared([])
    services: Annotated[list[Place], Field(max_length=MAX_ATTACHMENTS)] = shared([])
    workloads: Annotated[list[Place], Field(max_length=MAX_ATTACHMENTS)] = shared([])

    def __bool__(self) -> bool:
        return bool(self.namespaces or self.services or self.workloads)

    def with_more(self, more: "PolicyScope") -> "PolicyScope":
        """The union of both scopes."""
        return self._made(lambda mine, theirs: list(dict.fromkeys([*mine, *theirs])), more)

    def without(self, less: "PolicyScope") -> "PolicyScope":
        return self._made(lambda mine, theirs: [one for one in mine if one not in theirs], less)

    def _made(self, of: Callable[[list[str], list[str]], list[str]], other: "PolicyScope") -> "PolicyScope":
        found = {kind: of(getattr(self, kind), getattr(other, kind)) for kind in type(self).model_fields}
        return PolicyScope.model_validate({kind: places for kind, places in found.items() if places})

    def missing(self, other: "PolicyScope") -> list[str]:
        """What `other` contains and this scope does not, for messages."""
        return [
            f"{kind.removesuffix('s')} {one}"
            for kind in type(self).model_fields
            for one in getattr(other, kind)
            if one not in getattr(self, kind)
        ]


class Adjustment(Strict):
    """While a condition holds, the constraint is switched off, changes its weight, or changes its kind.

    It starts when `when` holds and ends when `until` holds; without `until`, when `when` no longer holds.
    """

    when: Text
    until: Text | None = None
    off: bool = False
    weight: Weight | None = None
    become: ConstraintKind | None = None

    @model_validator(mode="after")
    def _check_effect(self) -> Self:
        if not self.off and self.weight is None and self.become is None:
            raise ValueError("has no effect; give off: true, weight, or become")
        if self.off and (self.weight is not None or self.become is not None):
            raise AtField(("off",), "cannot be combined with weight or become")
        if self.become is ConstraintKind.REQUIRE and self.weight is not None:
            raise AtField(("weight",), "cannot be combined with become: require, which has no weight")
        return self

    @property
    def words(self) -> str:
        """What it does: `off`, `weight 0.2`, `become prefer with weight 0.2`."""
        if self.off:
            return "off"
        weight = "" if self.weight is None else f"weight {self.weight:g}"
        if self.become is None:
            return weight
        return f"become {self.become}{f' with {weight}' if weight else ''}"


class PolicyConstraint(Constraint):
    """A constraint with adjustments. Of several active ones, the first counts."""

    adjust: Annotated[list[Adjustment], Field(max_length=MAX_ADJUSTMENTS)] = shared([])

    @model_validator(mode="after")
    def _check_adjustments(self) -> Self:
        check_adjustments(self.kind, self.adjust)
        return self


def check_adjustments(kind: ConstraintKind, adjustments: Sequence[Adjustment]) -> None:
    """Raises AtField if an adjustment makes no sense for a constraint of this kind."""
    for index, one in enumerate(adjustments):
        at = ("adjust", index)
        if one.become is kind:
            raise AtField((*at, "become"), f"is what the constraint is already, {kind}")
        if kind is ConstraintKind.AVOID and one.become is ConstraintKind.REQUIRE:
            words = "would require what is avoided; write the opposite as prefer, which may become require"
            raise AtField((*at, "become"), words)
        if kind is ConstraintKind.REQUIRE and one.become is ConstraintKind.AVOID:
            words = "would avoid what is required; let it become prefer, or be off"
            raise AtField((*at, "become"), words)
        if kind is ConstraintKind.REQUIRE and one.become is None and one.weight is not None:
            raise AtField((*at, "weight"), "needs become: prefer, since what is required has no weight")


class Policy(Strict):
    """Constraints, affinity, spread and conflicts under one name. A single constraint may be given as `require`,
    `prefer` or `avoid` at the top level instead of `constraints`."""

    name: Name
    description: Annotated[Prose, Field(max_length=1000)] = ""
    require: Expression | None = None
    prefer: Expression | None = None
    avoid: Expression | None = None
    weight: Weight | None = None
    priority: Annotated[Count, Field(ge=1, le=100)] | None = None
    adjust: Annotated[list[Adjustment], Field(max_length=MAX_ADJUSTMENTS)] = shared([])
    constraints: Annotated[list[PolicyConstraint], Field(max_length=MAX_CONSTRAINTS)] = shared([])
    affinity: Annotated[list[Affinity], Field(max_length=100)] = shared([])
    spread: Annotated[list[Spread], Field(max_length=10)] = shared([])
    conflicts: Annotated[list[ConflictField], Field(max_length=20)] = shared([])
    applies_to: PolicyScope = shared(PolicyScope())

    @model_validator(mode="after")
    def _check_content(self) -> Self:
        given = [kind for kind in ConstraintKind if getattr(self, kind) is not None]
        if given and self.constraints:
            raise AtField(("constraints",), f"cannot be combined with {given[0]} at the top; put all of them here")
        if len(given) > 1:
            raise AtField((given[1],), f"cannot be combined with {given[0]}; give one, or a list under constraints")
        for field in ("weight", "priority", "adjust"):
            if not given and field in self.model_fields_set:
                raise AtField((field,), "requires require, prefer or avoid at the top, or goes inside constraints")
        if not (given or self.constraints or self.affinity or self.spread or self.conflicts):
            words = "is empty; give require, prefer or avoid, or constraints, affinity, spread or conflicts"
            raise ValueError(words)
        if given:
            self._check_short_form(given[0])
        check_expressions(self._expressions())
        return self

    def _expressions(self) -> Iterator[Expression]:
        for rule in self.rules:
            yield rule.expression
            for one in rule.adjust:
                yield from (one.when, *([] if one.until is None else [one.until]))

    def _check_short_form(self, kind: ConstraintKind) -> None:
        """Check a top-level constraint like one in the list."""
        if kind is ConstraintKind.REQUIRE:
            for field in ("weight", "priority"):
                if getattr(self, field) is not None:
                    raise AtField((field,), "requires prefer or avoid: a required constraint has no weight or priority")
        check_adjustments(kind, self.adjust)

    def _short(self, kind: ConstraintKind) -> PolicyConstraint:
        weight = 1.0 if self.weight is None else self.weight
        fields = {str(kind): getattr(self, kind), "weight": weight, "priority": self.priority, "adjust": self.adjust}
        return PolicyConstraint.model_construct(set(fields), **fields)

    @cached_property
    def rules(self) -> tuple[PolicyConstraint, ...]:
        """Its constraints, in either form."""
        for kind in ConstraintKind:
            if getattr(self, kind) is not None:
                return (self._short(kind),)
        return tuple(self.constraints)

    @property
    def adjusts(self) -> bool:
        return any(rule.adjust for rule in self.rules)

    def field_of(self, index: int) -> tuple[str | int, ...]:
        """The field path of a rule."""
        return ("constraints", index) if self.constraints else ()
