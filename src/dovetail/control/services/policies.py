"""Policies for the API: check, number and store them, and say whom a change affects.

Guarantees: an invalid policy is refused with every faulty field, with a caret under the place; a change that changes
nothing makes no version; changes are serialized, so versions have no gaps.
Left to others: what a policy does (`engine.policies`) and how it is shown (`api.policies`).
"""

import asyncio
from dataclasses import dataclass
from typing import Any

from pydantic import ValidationError

from dovetail.control.errors import Conflict, NotFound
from dovetail.control.loop.inbox import Apply
from dovetail.control.loop.store_access import on_store_thread
from dovetail.engine.questions.policy_questions import AppliedPolicy, PolicyQuestions, PolicyViolation
from dovetail.model.event import PolicyRemoved, PolicySet
from dovetail.model.policy import Policy, PolicyScope
from dovetail.model.text.complaint import Invalid
from dovetail.model.text.listing import first_of
from dovetail.model.text.strict import closest
from dovetail.model.text.validation_errors import complaints_of
from dovetail.store.contract import Store


@dataclass(frozen=True, slots=True)
class PolicyChange:
    """The result of a change: the policy as it is now, whether it changed, and who is affected."""

    ruling: AppliedPolicy
    changed: bool
    reconsidered: int
    violations: list[PolicyViolation]


class PolicyService:
    def __init__(self, policies: PolicyQuestions, store: Store, apply: Apply) -> None:
        self._policies, self._store, self._apply = policies, store, apply
        self._turn = asyncio.Lock()

    # --- asking ----------------------------------------------------------------------------------------------

    def all(self) -> list[AppliedPolicy]:
        return list(self._policies.by_name.values())

    def find(self, name: str) -> AppliedPolicy | None:
        return self._policies.by_name.get(name)

    def get(self, name: str) -> AppliedPolicy:
        found = self.find(name)
        if found is None:
            hint = closest(name, self._policies.by_name)
            raise NotFound(f"no policy {name[:100]!r}.{hint} dovetail policy lists them")
        return found

    def violations(self, name: str) -> list[PolicyViolation]:
        self.get(name)
        return self._policies.violations(name)

    async def versions(self, name: str) -> list[dict[str, Any]]:
        """Every version, newest first, also of a removed policy. Raises NotFound."""
        found = await on_store_thread(self._store.policy_versions, name)
        if not found:
            self.get(name)
        return found

    # --- changing --------------------------------------------------------------------------------------------

    async def set(self, policy: Policy, author: str = "", note: str = "") -> PolicyChange:
        """Create a policy or a new version of one. Raises Invalid."""
        if complaints := self._policies.complaints(policy):
            raise Invalid(complaints)
        async with self._turn:
            return await self._set(policy, author, note)

    async def attach(self, name: str, more: PolicyScope, author: str = "") -> PolicyChange:
        async with self._turn:
            policy = self.get(name).policy
            try:
                reach = policy.applies_to.with_more(more)
            except ValidationError as error:  # more than a policy may be attached to
                raise Invalid(complaints_of(error, PolicyScope)) from None
            note = f"attached to {first_of(policy.applies_to.missing(more))}"
            return await self._set(_attached(policy, reach), author, note)

    async def detach(self, name: str, less: PolicyScope, author: str = "") -> PolicyChange:
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
            version = self._policies.next_version(name)
            await self._apply([PolicyRemoved(name, version, author, note)])
            self._check_unnamed(name)  # somebody may have named it while it was on its way

    async def _set(self, policy: Policy, author: str, note: str) -> PolicyChange:
        before = self.find(policy.name)
        if before is not None and before.policy == policy:
            return PolicyChange(before, False, 0, self._policies.violations(policy.name))
        await self._apply([PolicySet(policy, self._policies.next_version(policy.name), author, note)])
        ruling = self.get(policy.name)
        return PolicyChange(ruling, True, ruling.reconsidered, self._policies.violations(policy.name))

    def _check_unnamed(self, name: str) -> None:
        if name in self._policies.by_name and (live := self._policies.workloads_naming(name)):
            words = f"policy {name} is named by work that has not ended: {first_of(live)}"
            raise Conflict(f"{words}; wait for its end, or cancel it")


def _attached(policy: Policy, reach: PolicyScope) -> Policy:
    return policy.model_copy(update={"applies_to": reach})
