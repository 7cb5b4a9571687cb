"""Builds a workload's terms from its definition: its scheduler and profile, and everything it requests."""

from collections.abc import Callable, Iterable
from dataclasses import replace

from dovetail.constraints.programs.structure import text_of
from dovetail.engine.settings import Router
from dovetail.model.requests.asks import ConstraintAsk
from dovetail.model.requests.shaping import market_of, shape_of
from dovetail.model.requests.task_identity import labels_of
from dovetail.model.requests.terms import Terms
from dovetail.model.workloads.constraint import Constraint
from dovetail.model.workloads.workload import RestartPolicy, Workload
from dovetail.placement.pipeline.profiles import WITH_MARKET
from dovetail.placement.registry import sees_image

ExpectedRunTime = Callable[[Workload], float | None]


def terms_of(router: Router, spec: Workload, expected_s: ExpectedRunTime | None = None) -> Terms:
    """`expected_s`: how long its tasks will probably run, where it says nothing. Raises what `Router.route` raises."""
    scheduler, profile = router.route(spec)
    disruption = spec.disruption
    wants = wants_of(spec.constraints) if spec.constraints else ()
    plugins = router.profiles[profile]
    by_image = sees_image(tuple(plugins.filters), tuple(plugins.scores))
    shape = shape_of(spec, scheduler, profile, wants, by_image=by_image)
    if spec.prefer is not None or router.market.prefer is not None:
        run_s = spec.deadline.run_for
        if run_s is None and expected_s is not None:
            run_s = expected_s(spec)
        ask = market_of(spec, run_s, router.market.prefer)
        shape = replace(shape, market=ask, profile=f"{profile}{WITH_MARKET}")
    return Terms(
        shape=shape,
        retries=spec.retries,
        queue=spec.queue,
        user=spec.user,
        tenant=router.fair.tenant_of(spec.namespace, spec.user, spec.labels),
        run_s=spec.deadline.run_for,
        schedule_within_s=spec.deadline.schedule_within,
        finish_within_s=spec.deadline.finish_within,
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
        restart_always=spec.restart is RestartPolicy.ALWAYS,
    )


def wants_of(constraints: Iterable[Constraint]) -> tuple[ConstraintAsk, ...]:
    """Constraints in the form that placement uses. Raises ExpressionError for an empty structure."""
    return tuple([ConstraintAsk(one.kind, text_of(one.expression), one.weight, one.priority) for one in constraints])
