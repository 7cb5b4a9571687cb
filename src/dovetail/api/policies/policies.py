"""Routes of policies: set, inspect, attach, remove, and which running tasks violate one; checking an expression."""

from collections.abc import Iterator, Mapping
from itertools import pairwise
from typing import Annotated, Any, cast

from fastapi import Path, Query, Request
from pydantic import Field

from dovetail.api.protocol.body import Author, Note, model_in, plane_of
from dovetail.api.protocol.openapi import Routes, takes
from dovetail.api.protocol.reading import SOURCE
from dovetail.api.protocol.replies import CreatedJson, Json, NoContent
from dovetail.api.protocol.row_list import PageQuery, RowList, SortedBy, fields
from dovetail.constraints.error import ExpressionError
from dovetail.constraints.programs.program import compile_node
from dovetail.constraints.programs.structure import structure_of, text_of
from dovetail.control.errors import NotFound
from dovetail.control.plane import ControlPlane
from dovetail.control.services.policies import PolicyChange
from dovetail.engine.questions.policy_questions import AppliedPolicy, PolicyViolation, RuleKey, describe_adjustment
from dovetail.model.policy import Policy, PolicyScope
from dovetail.model.text.complaint import Complaint, Invalid, field_name
from dovetail.model.text.strict import Name, Strict
from dovetail.model.workloads.constraint import Expression
from dovetail.model.workloads.workload import DEFAULT_NAMESPACE
from dovetail.responses import ItemList, ItemPage
from dovetail.responses.policies import (
    ChangedPolicy,
    CheckedConstraint,
    ConstraintInForce,
    PolicyAttachments,
    PolicyDetail,
    PolicyEffect,
    PolicyRule,
    PolicyVersion,
    ViolationRow,
)

router = Routes(tags=["policies"])

MOST_VIOLATIONS = 100  # in the answer to a change; all of them are at /violations
OFF = "off"


def _texts(row: PolicyDetail) -> Iterator[str]:
    """What a search looks into: names, what it says, and what it applies to."""
    yield row["name"]
    yield row["description"]
    for rule in row["in_force"]:
        yield f"{rule['asked']} {rule['expression']}"
    for kind, names in (
        ("namespace", row["applies_to"]["namespaces"]),
        ("service", row["applies_to"]["services"]),
        ("workload", row["applies_to"]["workloads"]),
    ):
        yield from (f"{kind} {name}" for name in names)


POLICIES: RowList[PolicyDetail] = RowList(
    sorts=fields("name", "version", "workloads", "set_at"),
    searched=_texts,
    counted=lambda row: "adjusted" if any(rule["because"] for rule in row["in_force"]) else "as written",
)


class PolicyQuery(PageQuery):
    sort: Annotated[str, SortedBy(POLICIES.sorts)] | None = None


class PolicyBody(Policy):
    """A policy whose name may be left out, because the path has it."""

    name: Name = ""


class ExpressionQuestion(Strict):
    """An expression as text or as a structure. Names of workloads in it belong to the namespace. `most_failing`: how
    many of the nodes that do not satisfy it are named."""

    expression: Expression
    namespace: Name = DEFAULT_NAMESPACE
    most_failing: Annotated[int, Field(ge=0, le=100_000)] = 5


def shown(ruling: AppliedPolicy, reached: Mapping[str, int]) -> PolicyDetail:
    """`reached`: by policy, how many workloads it applies to."""
    policy = ruling.policy
    return {
        "name": policy.name,
        "version": ruling.version,
        "set_at": ruling.at,
        "description": policy.description,
        "applies_to": cast("PolicyAttachments", policy.applies_to.model_dump(mode="json")),
        "in_force": [_constraint(ruling, index) for index in range(len(policy.rules))],
        "affinity": len(policy.affinity),
        "spread": len(policy.spread),
        "conflicts": len(policy.conflicts),
        "workloads": reached.get(policy.name, 0),
        "definition": policy.model_dump(mode="json", exclude_unset=True),
    }


def _constraint(ruling: AppliedPolicy, index: int) -> ConstraintInForce:
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


def _rule(ruling: AppliedPolicy, index: int, place: int) -> PolicyRule:
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


def violation_row(found: PolicyViolation) -> ViolationRow:
    return {
        "workload": found.task.workload,
        "replica": found.task.replica,
        "namespace": found.namespace,
        "name": found.workload,
        "node": found.node,
        "why": found.why,
    }


def changed(plane: ControlPlane, outcome: PolicyChange) -> ChangedPolicy:
    return {**shown(outcome.ruling, plane.questions.policies.reach()), **effect_of(outcome)}


def effect_of(outcome: PolicyChange) -> PolicyEffect:
    return {
        "changed": outcome.changed,
        "reconsidered": outcome.reconsidered,
        "violating": len(outcome.violations),
        "violations": [violation_row(one) for one in outcome.violations[:MOST_VIOLATIONS]],
    }


@router.get("/policies")
async def policies(request: Request, query: Annotated[PolicyQuery, Query()]) -> Json[ItemPage[PolicyDetail]]:
    """Policies, by name: all, or a page of those whose name, description, constraints or attachments contain `search`.
    `counts`: those that count `as written`, and those that are `adjusted` now."""
    policies = plane_of(request).questions.policies
    reached = policies.reach()
    return Json(POLICIES.page([shown(applied, reached) for applied in policies.by_name.values()], query))


@router.put("/policies/{name}", openapi_extra=takes(PolicyBody))
async def set_policy(
    request: Request, name: str, author: Author = "", note: Note = ""
) -> Json[ChangedPolicy] | CreatedJson[ChangedPolicy]:
    """Create a policy, or a new version of it; the same content again changes nothing.

    The scheduler reconsiders pending work that the policy applies to (`reconsidered`). No running task is stopped:
    `violations` lists the first hundred of the `violating` tasks that run where the policy does not allow it now.
    """
    policy = await model_in(request, Policy, defaults={"name": name})
    if policy.name != name:
        words = f"is {policy.name!r}, but the address says {name[:100]!r}; leave it out, or write the same"
        raise Invalid([Complaint(SOURCE, None, "name", words)])
    plane = plane_of(request)
    is_new = plane.policies.find(name) is None
    answer = changed(plane, await plane.policies.set(policy, author, note))
    return CreatedJson(answer) if is_new else Json(answer)


@router.get("/policies/{name}")
async def policy(request: Request, name: str) -> Json[PolicyDetail]:
    """The policy as it counts now: `in_force` has each constraint with its demand and weight, and the reason where that
    differs from what was written."""
    plane = plane_of(request)
    return Json(shown(plane.policies.get(name), plane.questions.policies.reach()))


@router.delete("/policies/{name}")
async def remove(request: Request, name: str, author: Author = "", note: Note = "") -> NoContent:
    """Remove a policy and its attachments. Refused with 409 while unfinished work names it."""
    await plane_of(request).policies.remove(name, author, note)
    return NoContent()


@router.get("/policies/{name}/versions")
async def versions(request: Request, name: str) -> Json[ItemList[PolicyVersion]]:
    """Every version, newest first, with who, when and which fields changed; also of a policy that was removed."""
    return Json({"items": _with_changes(await plane_of(request).policies.versions(name))})


@router.get("/policies/{name}/versions/{version}")
async def version(
    request: Request, name: str, number: Annotated[int, Path(alias="version", ge=1)]
) -> Json[PolicyVersion]:
    found = _with_changes(await plane_of(request).policies.versions(name))
    for row in found:
        if row["version"] == number:
            return Json(row)
    raise NotFound(f"policy {name} has no version {number}; its last is {found[0]['version']}")


def _with_changes(rows: list[dict[str, Any]]) -> list[PolicyVersion]:
    """`changed`: the fields that differ from the version before."""
    found = [cast("PolicyVersion", {**row, "removed": row["definition"] is None, "changed": []}) for row in rows]
    for newer, older in pairwise(found):
        new, old = newer["definition"] or {}, older["definition"] or {}
        newer["changed"] = [field for field in {**old, **new} if new.get(field) != old.get(field)]
    return found


@router.post("/policies/{name}/attachments", openapi_extra=takes(PolicyScope))
async def attach(request: Request, name: str, author: Author = "") -> Json[ChangedPolicy]:
    """Let it apply to more namespaces, services and workloads, from now on."""
    plane = plane_of(request)
    return Json(changed(plane, await plane.policies.attach(name, await _reach(request), author)))


@router.delete("/policies/{name}/attachments", openapi_extra=takes(PolicyScope))
async def detach(request: Request, name: str, author: Author = "") -> Json[ChangedPolicy]:
    """Let it no longer apply to these. Refused with 409 for what it is not attached to."""
    plane = plane_of(request)
    return Json(changed(plane, await plane.policies.detach(name, await _reach(request), author)))


async def _reach(request: Request) -> PolicyScope:
    found = await model_in(request, PolicyScope)
    if not found:
        raise Invalid([Complaint(SOURCE, None, "", "names nothing; give namespaces, services or workloads")])
    return found


@router.get("/policies/{name}/violations")
async def violations(request: Request, name: str) -> Json[ItemList[ViolationRow]]:
    """The tasks that run on nodes where a requirement of the policy does not hold now, and why. None is stopped."""
    return Json({"items": [violation_row(one) for one in plane_of(request).policies.violations(name)]})


@router.post("/constraints/check", openapi_extra=takes(ExpressionQuestion))
async def check_constraint(request: Request) -> Json[CheckedConstraint]:
    """Whether an expression about nodes is valid (`ok`; otherwise `error` and `caret` say where it is wrong), the same
    as text and as a structure, and how many nodes satisfy it now, with some that do not and why."""
    asked = await model_in(request, ExpressionQuestion)
    try:
        text = text_of(asked.expression)
        program = compile_node(text)
    except ExpressionError as error:
        return Json({"ok": False, "error": str(error), "caret": error.caret})
    found = plane_of(request).questions.explanations.check_expression(program, asked.namespace, asked.most_failing)
    return Json(
        {
            "ok": True,
            "text": text,
            "structure": structure_of(text),
            "reads": sorted(program.reads),
            "nodes": {
                "satisfying": found.satisfying,
                "of": found.nodes,
                "failing": [{"node": node, "why": why} for node, why in found.failing],
            },
        }
    )
