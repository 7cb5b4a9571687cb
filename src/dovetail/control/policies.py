"""The doors of policies: checked, numbered, made durable; and what follows from a change.

Guarantees: a policy that comes in makes sense as a whole, or `Invalid` names every field that does not, with a caret
under the place; what changes nothing makes no version; changes take turns, so that versions count up without a gap.
Left to others: what a policy does (`engine.policies`) and how it is shown (`api.policies`).
"""

import asyncio
from collections import Counter
from collections.abc import Awaitable, Callable, Iterable
from dataclasses import dataclass
from typing import Any

from pydantic import ValidationError

from dovetail.control.errors import Conflict, NotFound
from dovetail.control.store_threads import on_store_thread
from dovetail.engine.policies.policy_changes import workloads_naming
from dovetail.engine.policies.validation import problems_of_policy
from dovetail.engine.policies.violations import PolicyViolation, violations
from dovetail.engine.state.engine_state import EngineState
from dovetail.engine.state.policies import AppliedPolicy, Policies
from dovetail.model.event import Event, PolicyRemoved, PolicySet
from dovetail.model.policy import Policy, PolicyScope
from dovetail.model.text.complaint import Complaint, Invalid, complaints_of, field_name
from dovetail.model.text.listing import first_of
from dovetail.model.text.strict import closest
from dovetail.model.workloads.workload import Workload
from dovetail.store.contract import Store


@dataclass(frozen=True, slots=True)
class Outcome:
    """What a change came to: the policy as it is now, whether that is news, and who is affected by it."""

    ruling: AppliedPolicy
    changed: bool
    reconsidered: int
    violations: list[PolicyViolation]


class PolicyDoors:
    """`told` returns when events are durable."""

    def __init__(self, state: EngineState, store: Store, told: Callable[[list[Event]], Awaitable[None]]) -> None:
        self._state = state
        self._store = store
        self._told = told
        self._turn = asyncio.Lock()

    # --- asking ----------------------------------------------------------------------------------------------

    def all(self) -> list[AppliedPolicy]:
        return list(self._state.policies.by_name.values())

    def find(self, name: str) -> AppliedPolicy | None:
        return self._state.policies.by_name.get(name)

    def get(self, name: str) -> AppliedPolicy:
        found = self.find(name)
        if found is None:
            hint = closest(name, self._state.policies.by_name)
            raise NotFound(f"no policy {name[:100]!r}{'.' if hint else ''}{hint}")
        return found

    def violations(self, name: str) -> list[PolicyViolation]:
        self.get(name)
        return violations(self._state, name)

    def reached(self) -> Counter[str]:
        """By policy, how many live workloads it applies to."""
        policies, found = self._state.policies, Counter[str]()
        if policies:
            for work in self._state.work.values():
                found.update(policies.applying(work.namespace, work.shape.service, work.name, work.terms.policies))
        return found

    async def versions(self, name: str) -> list[dict[str, Any]]:
        """Every version, newest first, also of a policy that is gone. Raises NotFound."""
        found = await on_store_thread(self._store.policy_versions, name)
        if not found:
            self.get(name)
        return found

    # --- changing --------------------------------------------------------------------------------------------

    async def set(self, policy: Policy, author: str = "", note: str = "") -> Outcome:
        """A new policy, or another version of one. Raises Invalid."""
        check_policy(policy)
        async with self._turn:
            return await self._set(policy, author, note)

    async def attach(self, name: str, more: PolicyScope, author: str = "") -> Outcome:
        async with self._turn:
            policy = self.get(name).policy
            try:
                reach = policy.applies_to.with_more(more)
            except ValidationError as error:  # more than a policy may be attached to
                raise Invalid(complaints_of(error, PolicyScope)) from None
            note = f"attached to {first_of(policy.applies_to.missing(more))}"
            return await self._set(_attached(policy, reach), author, note)

    async def detach(self, name: str, less: PolicyScope, author: str = "") -> Outcome:
        """Raises Conflict for what it is not attached to."""
        async with self._turn:
            policy = self.get(name).policy
            missing = policy.applies_to.missing(less)
            if missing:
                raise Conflict(f"policy {name} is not attached to {first_of(missing)}")
            note = f"detached from {first_of(PolicyScope().missing(less))}"
            return await self._set(_attached(policy, policy.applies_to.without(less)), author, note)

    async def remove(self, name: str, author: str = "", note: str = "") -> None:
        """Raises Conflict while live work names it."""
        async with self._turn:
            self.get(name)
            self._check_unnamed(name)
            version = self._state.policies.next_version(name)
            await self._told([PolicyRemoved(name, version, author, note)])
            self._check_unnamed(name)  # somebody may have named it while it was on its way

    async def _set(self, policy: Policy, author: str, note: str) -> Outcome:
        policies = self._state.policies
        before = policies.by_name.get(policy.name)
        if before is not None and before.policy == policy:
            return Outcome(before, False, 0, violations(self._state, policy.name))
        await self._told([PolicySet(policy, policies.next_version(policy.name), author, note)])
        ruling = self.get(policy.name)
        return Outcome(ruling, True, ruling.reconsidered, violations(self._state, policy.name))

    def _check_unnamed(self, name: str) -> None:
        if name in self._state.policies.by_name and (live := workloads_naming(self._state, name)):
            words = f"policy {name} is named by work that has not ended: {first_of(live)}"
            raise Conflict(f"{words}; wait for its end, or cancel it")


def _attached(policy: Policy, reach: PolicyScope) -> Policy:
    return policy.model_copy(update={"applies_to": reach})


# --- what makes sense ----------------------------------------------------------------------------------------


def check_policy(policy: Policy) -> None:
    """Raises Invalid with every expression that cannot be understood."""
    if complaints := problems_of_policy(policy):
        raise Invalid(complaints)


def check_names(specs: Iterable[Workload], policies: Policies) -> None:
    """Raises Invalid for policies that workloads name and nobody has made."""
    complaints = [
        Complaint(f"workload {spec.name}", None, field_name(("policies", index)), _unknown(name, policies))
        for spec in specs
        for index, name in enumerate(spec.policies)
        if name not in policies.by_name
    ]
    if complaints:
        raise Invalid(complaints)


def _unknown(name: str, policies: Policies) -> str:
    return f"no policy {name!r}; make it first with dovetail policy set.{closest(name, policies.by_name)}"
