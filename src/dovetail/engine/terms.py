"""What the engine needs of a workload's definition, in a form that a restart can restore without the definition."""

import json
from collections.abc import Iterable
from dataclasses import dataclass, fields
from functools import lru_cache

from dovetail.constraints.structure import text_of
from dovetail.engine.settings import Router
from dovetail.model.asks import Want
from dovetail.model.constraint import Constraint
from dovetail.model.grouping import labels_of
from dovetail.model.shape import Shape
from dovetail.model.shaping import shape_of
from dovetail.model.workload import Workload


@dataclass(frozen=True, slots=True)
class Terms:
    """Equal for workloads that differ in nothing but their names: most of them, so they are made and stored once."""

    shape: Shape
    retries: int = 0
    queue: str | None = None  # as the user named it
    user: str | None = None
    tenant: str = ""  # who the fair order counts it for
    run_s: float | None = None  # declared
    schedule_within_s: float | None = None
    gang_min: int = 0  # of its own tasks
    group: str = ""
    group_min: int = 0  # of the tasks of all that are in the group
    loose: bool = False  # a gang only until it has started
    concurrency: int = 0  # 0: no limit
    preemptible: bool = True
    max_unavailable: int = 0  # 0: no limit
    min_run_s: float = 0.0
    checkpoint_s: float = 0.0
    labels: tuple[tuple[str, str], ...] = ()  # of the workload: others may want to be near to it or apart from it
    policies: tuple[str, ...] = ()  # that it asked for by name

    @staticmethod
    def from_json(text: str) -> "Terms":
        found = json.loads(text)
        shape = Shape.from_json(json.dumps(found.pop("shape")))
        labels = tuple((key, value) for key, value in found.pop("labels", ()))
        return Terms(shape, **found | {"labels": labels, "policies": tuple(found.get("policies", ()))})


_OPTIONAL = tuple((field.name, field.default) for field in fields(Terms) if field.name not in ("shape", "retries"))


@lru_cache(maxsize=4096)
def terms_json(terms: Terms) -> str:
    """The inverse of `Terms.from_json`; kept for terms that come again and again."""
    more = {name: value for name, default in _OPTIONAL if (value := getattr(terms, name)) != default}
    rest = f",{json.dumps(more, separators=(',', ':'))[1:-1]}" if more else ""
    return f'{{"retries":{terms.retries}{rest},"shape":{terms.shape.to_json()}}}'


def terms_of(router: Router, spec: Workload) -> Terms:
    """Raises what `Router.route` raises."""
    scheduler, profile = router.route(spec)
    disruption = spec.disruption
    return Terms(
        shape=shape_of(spec, scheduler, profile, wants_of(spec.constraints) if spec.constraints else ()),
        retries=spec.retries,
        queue=spec.queue,
        user=spec.user,
        tenant=router.tenant(spec),
        run_s=spec.deadline.run_for,
        schedule_within_s=spec.deadline.schedule_within,
        gang_min=0 if spec.gang is None or spec.gang.group is not None else spec.gang.min,
        group="" if spec.gang is None else spec.gang.group or "",
        group_min=0 if spec.gang is None or spec.gang.group is None else spec.gang.min,
        loose=spec.gang is not None and not spec.gang.hold,
        concurrency=spec.concurrency or 0,
        preemptible=disruption.allowed,
        max_unavailable=disruption.max_unavailable or 0,
        min_run_s=disruption.min_run_time or 0.0,
        checkpoint_s=disruption.checkpoint_every or 0.0,
        labels=labels_of(spec),
        policies=tuple(spec.policies),
    )


def wants_of(constraints: Iterable[Constraint], source: str = "") -> tuple[Want, ...]:
    """Expressions as placement looks at them. Raises ExpressionError for a structure that says nothing."""
    return tuple([Want(one.kind, text_of(one.expression), one.weight, one.priority, source) for one in constraints])
