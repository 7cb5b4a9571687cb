"""What our credentials may do, asked of the API server as `kubectl auth can-i` does.

Asked before work begins, so that everything that is missing is named at once, and not one call after the other.
"""

import asyncio
from collections.abc import Iterable
from dataclasses import dataclass

from dovetail.kubernetes_client.api import Api
from dovetail.kubernetes_client.errors import Forbidden, ObjectNotFound

REVIEWS = "/apis/authorization.k8s.io/v1/selfsubjectaccessreviews"


@dataclass(frozen=True, slots=True)
class AccessRight:
    """`resource` may name a part of it (`pods/log`), or one object (`name`). `group`: empty for the core API.
    `namespace` None: in the whole cluster."""

    verb: str
    resource: str
    group: str = ""
    namespace: str | None = None
    name: str = ""

    def __str__(self) -> str:
        resource = f"{self.resource}.{self.group}" if self.group else self.resource
        where = "in the cluster" if self.namespace is None else f"in namespace {self.namespace}"
        return f"{self.verb} {resource} {where}"

    @property
    def attributes(self) -> dict[str, str]:
        resource, _, part = self.resource.partition("/")
        found = {"verb": self.verb, "group": self.group, "resource": resource, "subresource": part}
        return {**found, "namespace": self.namespace or "", "name": self.name}


def rights(
    verbs: Iterable[str], resources: Iterable[str], group: str = "", namespace: str | None = None
) -> list[AccessRight]:
    """Each of the verbs for each of the resources."""
    return [AccessRight(verb, resource, group, namespace) for resource in resources for verb in verbs]


async def missing_rights(api: Api, needed: Iterable[AccessRight]) -> list[AccessRight]:
    """Those that the API server would refuse. None if it does not tell: the calls themselves then do."""
    asked = list(needed)
    try:
        allowed = await asyncio.gather(*[_may(api, right) for right in asked])
    except (Forbidden, ObjectNotFound):
        return []
    return [right for right, may in zip(asked, allowed, strict=True) if not may]


async def _may(api: Api, right: AccessRight) -> bool:
    review = {"apiVersion": "authorization.k8s.io/v1", "kind": "SelfSubjectAccessReview"}
    found = await api.create(REVIEWS, {**review, "spec": {"resourceAttributes": right.attributes}})
    return bool(found["status"].get("allowed"))


def lacking(missing: Iterable[AccessRight], file: str, where: str = "") -> str:
    """What is missing, and what to do. `file`: the manifest that grants it."""
    listed = "; ".join(map(str, missing))
    return f"our credentials lack rights{where} (403): {listed}. Grant them: kubectl apply -f {file}"
