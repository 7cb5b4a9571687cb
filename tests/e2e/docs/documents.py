"""What a YAML block of a page is, judged by its fields, and whether it is a valid one."""

import contextlib
from collections.abc import Callable
from typing import Any

import yaml

from dovetail.control.settings import Settings
from dovetail.engine.settings import EngineSettings
from dovetail.kubernetes.objects.annotations import asked_in, own_of
from dovetail.kubernetes.objects.gangs import gang_in
from dovetail.kubernetes.scheduler.settings import KubernetesSchedulerSettings
from dovetail.model.network.topology import Topology
from dovetail.model.network.topology_readers.reading import read_topology
from dovetail.model.policy import Policy
from dovetail.model.services.reading import services_of
from dovetail.model.services.service import Service
from dovetail.model.text.complaint import Invalid
from dovetail.model.text.document import read_documents
from dovetail.model.workloads.reading import read_workloads
from dovetail.model.workloads.workload import Workload


def is_work(text: str) -> bool:
    """Is it complete, so that it can be submitted as it stands?"""
    parts = [part for part in yaml.safe_load_all(text) if part]
    return all(
        isinstance(part, dict)
        and "name" in part
        and part.get("kind") != "service"
        and set(part) <= set(Workload.model_fields)
        for part in parts
    )


def check_document(text: str, where: str) -> None:
    """Raises if it is nothing that Dovetail reads, or a faulty one."""
    for part in yaml.safe_load_all(text):
        assert isinstance(part, dict), f"{where}: not a mapping"
        possible = [check for fields, check in _KINDS if set(part) <= fields]
        known = "a workload, a service, settings, a topology, a policy or metadata of a pod"
        assert possible, f"{where}: fields {', '.join(part)}: neither {known}; say `not run` and who checks it"
        for check in possible[:-1]:
            with contextlib.suppress(ValueError, Invalid):
                check(part, where)
                break
        else:
            possible[-1](part, where)


def _work(part: dict[str, Any], where: str) -> None:
    read_workloads(yaml.safe_dump({"name": "example"} | part), where)


def _service(part: dict[str, Any], where: str) -> None:
    services_of(read_documents(yaml.safe_dump({"name": "example"} | part).encode(), where), where)


def _settings(part: dict[str, Any], where: str) -> None:
    Settings.model_validate(part)


def _scheduling(part: dict[str, Any], where: str) -> None:
    Settings.model_validate({"scheduling": part})


def _topology(part: dict[str, Any], where: str) -> None:
    read_topology(yaml.safe_dump(part), where)


def _policy(part: dict[str, Any], where: str) -> None:
    Policy.model_validate(part)


def _kubernetes_scheduler(part: dict[str, Any], where: str) -> None:
    KubernetesSchedulerSettings.model_validate(part)


def _metadata_of_a_pod(part: dict[str, Any], where: str) -> None:
    """What Dovetail reads of it: the gang it belongs to, and what it asks for in annotations."""
    metadata = part["metadata"]
    asked = asked_in(own_of(metadata.get("annotations") or {}))
    assert gang_in(metadata.get("labels") or {}) or asked.gang, f"{where}: says nothing that Dovetail reads"


_KINDS: list[tuple[set[str], Callable[[dict[str, Any], str], None]]] = [
    (set(Workload.model_fields), _work),
    (set(Service.model_fields), _service),
    (set(Settings.model_fields), _settings),
    (set(Topology.model_fields), _topology),
    (set(Policy.model_fields), _policy),
    (set(EngineSettings.model_fields), _scheduling),
    (set(KubernetesSchedulerSettings.model_fields), _kubernetes_scheduler),
    ({"metadata"}, _metadata_of_a_pod),
]
