"""The extender's wire format, `k8s.io/kube-scheduler/extender/v1`.

Those Go types carry no JSON names, so their fields are spelled as in Go (`NodeNames`, `NumPDBViolations`); objects
inside them are spelled as everywhere in the API. Input is read in any case, as Go reads it; unknown fields are ignored.
A pod without the fields that every pod has is rejected.
"""

from typing import Annotated, Any, TypedDict

from pydantic import AfterValidator, BaseModel, ConfigDict, Field, ValidationError, model_validator
from pydantic.alias_generators import to_pascal

from dovetail.model.text.validation_errors import complaints_of

Json = dict[str, Any]

MOST_POINTS = 10
_FAULTS = 3
_SPELT = {"Uid": "UID", "PodUid": "PodUID", "NumPdbViolations": "NumPDBViolations"}


def _go_name(name: str) -> str:
    pascal = to_pascal(name)
    return _SPELT.get(pascal, pascal)


class Wire(BaseModel):
    model_config = ConfigDict(alias_generator=_go_name, populate_by_name=True, extra="ignore")

    @model_validator(mode="before")
    @classmethod
    def _any_case(cls, data: Any) -> Any:
        """Go reads names in any case, and earlier versions wrote them in lower case."""
        if not isinstance(data, dict):
            return data
        known = {name: name for field in cls.model_fields.values() if (name := field.alias) is not None}
        if known.keys() >= data.keys():
            return data
        small = {name.lower(): name for name in known}
        return {small.get(key.lower(), key) if isinstance(key, str) else key: value for key, value in data.items()}

    def to_json(self) -> bytes:
        return self.model_dump_json(by_alias=True).encode()


def _of_pod(pod: Json) -> Json:
    about, spec = pod.get("metadata"), pod.get("spec")
    if not isinstance(about, dict) or not isinstance(spec, dict) or not isinstance(spec.get("containers"), list):
        raise ValueError("is no pod: it has no metadata, or no spec with containers")
    for name in ("namespace", "name", "uid"):
        if not isinstance(about.get(name), str) or not about[name]:
            raise ValueError(f"is no pod that can be placed: metadata.{name} is missing")
    for name in ("labels", "annotations"):
        if not isinstance(about.get(name) or {}, dict):
            raise ValueError(f"is no pod: metadata.{name} is no mapping")
    return pod


Pod = Annotated[Json, AfterValidator(_of_pod)]


class NodeList(BaseModel):
    """Of v1, with the nodes as they came."""

    model_config = ConfigDict(extra="allow")

    items: list[Json] | None = None

    def names(self) -> list[str]:
        return [str((node.get("metadata") or {}).get("name") or "") for node in self.items or ()]


class ExtenderArgs(Wire):
    """`node_names` where the extender is `nodeCacheCapable`, else `nodes`."""

    pod: Pod
    nodes: NodeList | None = None
    node_names: list[str] | None = None

    @property
    def names(self) -> list[str]:
        if self.node_names is not None:
            return self.node_names
        return self.nodes.names() if self.nodes is not None else []


class ExtenderFilterResult(Wire):
    nodes: NodeList | None = None
    node_names: list[str] | None = None
    failed_nodes: dict[str, str] = Field(default_factory=dict)
    failed_and_unresolvable_nodes: dict[str, str] = Field(default_factory=dict)
    error: str = ""


class HostPriority(TypedDict):
    """Not a model: there is one for every node, and it is only written."""

    Host: str
    Score: int


class MetaPod(Wire):
    """Also read from a whole pod, as it is sent where the extender is not `nodeCacheCapable`."""

    uid: str = ""

    @model_validator(mode="before")
    @classmethod
    def _of_whole_pod(cls, data: Any) -> Any:
        about = data.get("metadata") if isinstance(data, dict) else None
        return {"UID": about.get("uid") or ""} if isinstance(about, dict) else data


class MetaVictims(Wire):
    pods: list[MetaPod] | None = None
    num_pdb_violations: int = 0

    @property
    def uids(self) -> list[str]:
        return [pod.uid for pod in self.pods or ()]


class ExtenderPreemptionArgs(Wire):
    pod: Pod
    node_name_to_victims: dict[str, MetaVictims | None] | None = None
    node_name_to_meta_victims: dict[str, MetaVictims | None] | None = None

    def proposed(self) -> dict[str, MetaVictims]:
        """kube-scheduler's victims, in whichever form they came."""
        names = self.node_name_to_meta_victims
        found = names if names is not None else self.node_name_to_victims or {}
        return {name: one or meta_victims([], 0) for name, one in found.items()}


class ExtenderPreemptionResult(Wire):
    node_name_to_meta_victims: dict[str, MetaVictims] = Field(default_factory=dict)


class ExtenderBindingArgs(Wire):
    pod_name: Annotated[str, Field(min_length=1)]
    pod_namespace: Annotated[str, Field(min_length=1)]
    pod_uid: str = ""
    node: Annotated[str, Field(min_length=1)]


class ExtenderBindingResult(Wire):
    error: str = ""


def meta_victims(uids: list[str], violations: int) -> MetaVictims:
    return MetaVictims(pods=[MetaPod(uid=uid) for uid in uids], num_pdb_violations=violations)


def faults(error: ValidationError, model: type[BaseModel]) -> str:
    """What is wrong with the input, in one line."""
    complaints = complaints_of(error, model)
    found = [f"{one.field or 'the body'}: {one.message}" for one in complaints[:_FAULTS]]
    more = len(complaints) - len(found)
    return "; ".join(found) + (f"; and {more} more" if more else "")
