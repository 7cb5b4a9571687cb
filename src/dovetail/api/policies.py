"""Routes of policies: set, look at, attach, remove; and what runs against one."""

from collections.abc import Mapping
from itertools import pairwise
from typing import Annotated, Any

from fastapi import APIRouter, Path, Request
from starlette.responses import Response

from dovetail.api.authorship import Author, Note
from dovetail.api.body import SOURCE, model_in, plane_of
from dovetail.api.description import takes
from dovetail.api.replies import Json
from dovetail.control.errors import NotFound
from dovetail.control.plane import ControlPlane
from dovetail.control.policies import Outcome
from dovetail.engine.policies.adjustments import describe_adjustment
from dovetail.engine.policies.violations import PolicyViolation
from dovetail.engine.state.policies import AppliedPolicy, RuleKey
from dovetail.model.policy import Policy, PolicyScope
from dovetail.model.text.complaint import Complaint, Invalid, field_name

router = APIRouter(prefix="/policies", tags=["policies"])

MOST_VIOLATIONS = 100  # in the answer to a change; all of them are at /violations
OFF = "off"


def definition_of(policy: Policy) -> dict[str, Any]:
    """What would set it again."""
    return policy.model_dump(mode="json", exclude_unset=True)


def shown(ruling: AppliedPolicy, reached: Mapping[str, int]) -> dict[str, Any]:
    """`reached`: by policy, how many workloads it applies to."""
    policy = ruling.policy
    return {
        "name": policy.name,
        "version": ruling.version,
        "set_at": ruling.at,
        "description": policy.description,
        "applies_to": policy.applies_to.model_dump(mode="json"),
        "in_force": [_constraint(ruling, index) for index in range(len(policy.rules))],
        "affinity": len(policy.affinity),
        "spread": len(policy.spread),
        "conflicts": len(policy.conflicts),
        "workloads": reached.get(policy.name, 0),
        "definition": definition_of(policy),
    }


def _constraint(ruling: AppliedPolicy, index: int) -> dict[str, Any]:
    """One constraint as it counts now, and what it was asked to be."""
    rule, want, adjusted = ruling.policy.rules[index], ruling.want(index), ruling.adjusted_by(index)
    return {
        "field": field_name(ruling.policy.field_of(index)),
        "name": rule.name,
        "expression": ruling.texts[index],
        "asked": str(rule.kind),
        "demand": OFF if want is None else str(want.demand),
        "weight": None if want is None or str(want.demand) == "require" else want.weight,
        "priority": None if want is None else want.priority,
        "because": "" if adjusted is None else describe_adjustment(*adjusted),
        "since": None if adjusted is None else adjusted[1].since,
        "adjust": [_rule(ruling, index, place) for place in range(len(rule.adjust))],
    }


def _rule(ruling: AppliedPolicy, index: int, place: int) -> dict[str, Any]:
    rule = ruling.policy.rules[index].adjust[place]
    active = ruling.active.get(RuleKey(index, place))
    return {
        "when": rule.when,
        "until": rule.until,
        "then": rule.words,
        "on": active is not None,
        "since": None if active is None else active.since,
        "values": "" if active is None else active.values,
    }


def violation_row(found: PolicyViolation) -> dict[str, Any]:
    return {
        "workload": found.task.workload,
        "replica": found.task.replica,
        "namespace": found.namespace,
        "name": found.workload,
        "node": found.node,
        "why": found.why,
    }


def changed(plane: ControlPlane, outcome: Outcome) -> dict[str, Any]:
    """The policy, and what its change came to."""
    return {
        **shown(outcome.ruling, plane.policies.reached()),
        "changed": outcome.changed,
        "reconsidered": outcome.reconsidered,
        "violating": len(outcome.violations),
        "violations": [violation_row(one) for one in outcome.violations[:MOST_VIOLATIONS]],
    }


@router.get("")
async def policies(request: Request) -> Response:
    """Every policy, by name."""
    doors = plane_of(request).policies
    reached = doors.reached()
    return Json({"items": [shown(ruling, reached) for ruling in doors.all()]})


@router.put("/{name}", openapi_extra=takes(Policy))
async def set_policy(request: Request, name: str, author: Author = "", note: Note = "") -> Response:
    """Make a policy, or another version of it; the same content again changes nothing.

    Everything that waits and that it applies to is looked at again (`reconsidered`). Nothing that runs is stopped:
    `violations` says what runs where the policy would not allow it now, the first hundred of `violating`.
    """
    policy = await model_in(request, Policy, defaults={"name": name})
    if policy.name != name:
        words = f"is {policy.name!r}, but the address says {name[:100]!r}; leave it out, or write the same"
        raise Invalid([Complaint(SOURCE, None, "name", words)])
    plane = plane_of(request)
    is_new = plane.policies.find(name) is None
    return Json(changed(plane, await plane.policies.set(policy, author, note)), 201 if is_new else 200)


@router.get("/{name}")
async def policy(request: Request, name: str) -> Response:
    """The policy as it counts now: `in_force` has each constraint with its demand and weight, and why if that is not
    what was written."""
    doors = plane_of(request).policies
    return Json(shown(doors.get(name), doors.reached()))


@router.delete("/{name}", status_code=204)
async def remove(request: Request, name: str, author: Author = "", note: Note = "") -> Response:
    """End a policy and its attachments. Refused with 409 while unfinished work names it."""
    await plane_of(request).policies.remove(name, author, note)
    return Response(status_code=204)


@router.get("/{name}/versions")
async def versions(request: Request, name: str) -> Response:
    """Every version, newest first, with who, when and which fields changed; also of a policy that was removed."""
    return Json({"items": _with_changes(await plane_of(request).policies.versions(name))})


@router.get("/{name}/versions/{version}")
async def version(request: Request, name: str, number: Annotated[int, Path(alias="version", ge=1)]) -> Response:
    found = _with_changes(await plane_of(request).policies.versions(name))
    for row in found:
        if row["version"] == number:
            return Json(row)
    raise NotFound(f"policy {name} has no version {number}; its last is {found[0]['version']}")


def _with_changes(rows: list[dict[str, Any]]) -> list[dict[str, Any]]:
    """`changed`: the fields that are not as they were in the version before."""
    found = [{**row, "removed": row["definition"] is None, "changed": []} for row in rows]
    for newer, older in pairwise(found):
        new, old = newer["definition"] or {}, older["definition"] or {}
        newer["changed"] = [field for field in {**old, **new} if new.get(field) != old.get(field)]
    return found


@router.post("/{name}/attachments", openapi_extra=takes(PolicyScope))
async def attach(request: Request, name: str, author: Author = "") -> Response:
    """Let it apply to more namespaces, services and workloads, from now on."""
    plane = plane_of(request)
    return Json(changed(plane, await plane.policies.attach(name, await _reach(request), author)))


@router.delete("/{name}/attachments", openapi_extra=takes(PolicyScope))
async def detach(request: Request, name: str, author: Author = "") -> Response:
    """Let it no longer apply to these. Refused with 409 for what it is not attached to."""
    plane = plane_of(request)
    return Json(changed(plane, await plane.policies.detach(name, await _reach(request), author)))


async def _reach(request: Request) -> PolicyScope:
    found = await model_in(request, PolicyScope)
    if not found:
        raise Invalid([Complaint(SOURCE, None, "", "names nothing; give namespaces, services or workloads")])
    return found


@router.get("/{name}/violations")
async def violations(request: Request, name: str) -> Response:
    """What runs on nodes where a requirement of the policy does not hold now, and why. Nothing is stopped for it."""
    return Json({"items": [violation_row(one) for one in plane_of(request).policies.violations(name)]})
