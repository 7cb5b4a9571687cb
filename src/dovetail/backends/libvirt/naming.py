"""Which domains and volumes are ours: names and UUIDs that follow from the key, and the mark in a domain's metadata."""

import re
import uuid
from dataclasses import dataclass, replace
from xml.etree import ElementTree as ET

from dovetail.backends.contract import Assignment

NAMESPACE = "urn:dovetail:task:1"
PREFIX = "dovetail"
_UUIDS = uuid.UUID("6f0d7c1e-7a8f-4b0c-9a51-1d0e6a1f4c35")
_KEY = re.compile(r"\d+\.\d+\.\d+")
LOG, SEED, DISK = ".log", ".seed.iso", ".qcow2"


@dataclass(frozen=True, slots=True)
class DomainMark:
    """What the metadata of a domain says. `since`: when it was made or adopted. `off`: a user switched the VM off, and
    its attempt has not ended."""

    cluster: str
    backend: str
    key: str
    workload: str = ""
    namespace: str = ""
    grace_s: float = 30.0
    run_for_s: float | None = None
    since: float = 0.0
    adopted: bool = False
    off: bool = False

    def element(self) -> ET.Element:
        """As the child of <metadata> in the definition of a domain."""
        ET.register_namespace(PREFIX, NAMESPACE)
        return ET.Element(f"{{{NAMESPACE}}}task", self._fields())

    def xml(self) -> str:
        """As setMetadata takes it, which adds the namespace itself."""
        return ET.tostring(ET.Element("task", self._fields()), encoding="unicode")

    def _fields(self) -> dict[str, str]:
        return {
            "cluster": self.cluster,
            "backend": self.backend,
            "key": self.key,
            "workload": self.workload,
            "namespace": self.namespace,
            "grace_s": repr(self.grace_s),
            "since": repr(self.since),
            **({} if self.run_for_s is None else {"run_for_s": repr(self.run_for_s)}),
            **({"adopted": "1"} if self.adopted else {}),
            **({"power": "off"} if self.off else {}),
        }

    def switched(self, *, off: bool) -> "DomainMark":
        return replace(self, off=off)


def read_mark(text: str) -> DomainMark | None:
    """From what libvirt returns as metadata; None for what is not a mark."""
    try:
        element = ET.fromstring(text)  # noqa: S314 - libvirt has parsed it before
        found = element.attrib
        return DomainMark(
            found["cluster"],
            found["backend"],
            found["key"],
            found.get("workload", ""),
            found.get("namespace", ""),
            float(found.get("grace_s", "30")),
            float(found["run_for_s"]) if "run_for_s" in found else None,
            float(found.get("since", "0")),
            found.get("adopted") == "1",
            found.get("power") == "off",
        )
    except (ET.ParseError, KeyError, ValueError):
        return None


@dataclass(frozen=True, slots=True)
class DomainIdentity:
    """The owner of domains: several control planes and several backends may share a hypervisor."""

    cluster: str
    backend: str

    @property
    def prefix(self) -> str:
        return f"dovetail-{self.cluster}-"

    def name(self, key: str) -> str:
        return f"{self.prefix}{key}"

    def uuid(self, key: str) -> str:
        """libvirt accepts each UUID once on a host, so binding twice cannot make two domains."""
        return str(uuid.uuid5(_UUIDS, f"{self.cluster}/{self.backend}/{key}"))

    def key_of_name(self, name: str, uuid_text: str) -> str | None:
        """The key of a domain that we made; None for others."""
        key = name.removeprefix(self.prefix)
        return key if key != name and _KEY.fullmatch(key) and self.uuid(key) == uuid_text else None

    def key_of_volume(self, name: str) -> str | None:
        """The key of the attempt whose volume it is, by its name."""
        found = _KEY.match(name.removeprefix(self.prefix))
        return found[0] if found and name.startswith(self.prefix) else None

    def owns(self, mark: DomainMark) -> bool:
        return mark.cluster == self.cluster and mark.backend == self.backend

    def mark(self, assignment: Assignment, grace_s: float, now: float) -> DomainMark:
        spec = assignment.spec
        return DomainMark(
            self.cluster,
            self.backend,
            assignment.key,
            spec.name,
            spec.namespace,
            grace_s if spec.disruption.grace is None else spec.disruption.grace,
            spec.deadline.run_for,
            now,
            adopted=spec.vm is not None and spec.vm.adopt is not None,
        )
