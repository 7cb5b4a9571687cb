"""Volumes of a workload as what its pod mounts, and which claims wait for a scheduler."""

import re
from typing import Any

import pytest

from dovetail.backends.contract import Assignment, Refusal
from dovetail.backends.kubernetes.manifest import pod_of, refuse_what_cannot_run
from dovetail.backends.kubernetes.settings import KubernetesSettings
from dovetail.backends.kubernetes.volumes import CLASS, SELECTED_NODE, claims_of, waits_for_scheduler
from dovetail.model.task import TaskId
from dovetail.model.workloads.workload import Workload

DNS_LABEL = re.compile(r"[a-z0-9]([-a-z0-9]{0,61}[a-z0-9])?")


def mounting(*volumes: tuple[str, str, bool]) -> Assignment:
    """Each as source, target, and whether it is only read."""
    given = [{"source": source, "target": target, "read_only": only} for source, target, only in volumes]
    spec = Workload.model_validate({"name": "work", "run": {"image": "busybox", "volumes": given}})
    return Assignment("7.0.2", TaskId(7, 0), "n1", spec)


def pod_spec(*volumes: tuple[str, str, bool]) -> dict[str, Any]:
    found: dict[str, Any] = pod_of(mounting(*volumes), "me", "n1", KubernetesSettings())["spec"]
    return found


def test_a_name_is_a_claim_and_a_path_a_folder_of_the_node_that_has_to_be_there() -> None:
    made = pod_spec(("data", "/in", True), ("/srv/out", "/out", False))
    assert made["volumes"] == [
        {"name": "volume-0", "persistentVolumeClaim": {"claimName": "data", "readOnly": True}},
        {"name": "volume-1", "hostPath": {"path": "/srv/out", "type": "Directory"}},
    ]
    assert made["containers"][0]["volumeMounts"] == [
        {"name": "volume-0", "mountPath": "/in", "readOnly": True},
        {"name": "volume-1", "mountPath": "/out", "readOnly": False},
    ]


def test_a_claim_in_two_places_is_one_volume_and_read_only_where_it_is_said() -> None:
    made = pod_spec(("data", "/in", True), ("data", "/out", False))
    assert made["volumes"] == [{"name": "volume-0", "persistentVolumeClaim": {"claimName": "data", "readOnly": False}}]
    mounts = made["containers"][0]["volumeMounts"]
    assert [(mount["name"], mount["readOnly"]) for mount in mounts] == [("volume-0", True), ("volume-0", False)]


def test_claims_are_named_once_and_folders_are_none() -> None:
    work = mounting(("data", "/in", True), ("/srv", "/s", True), ("more", "/more", False), ("data", "/out", False))
    assert claims_of(work.spec.run.volumes) == ["data", "more"]


def test_names_in_the_pod_are_labels_and_distinct_whatever_the_sources_are_called() -> None:
    sources = ["Data_1.x", "data-1-x", "/srv/Über uns", "/srv", "/srv/", "x" * 300]
    made = pod_spec(*((source, f"/at/{number}", False) for number, source in enumerate(sources)))
    names = [volume["name"] for volume in made["volumes"]]
    assert len(set(names)) == len(sources)
    assert all(DNS_LABEL.fullmatch(name) for name in names)


def test_without_volumes_nothing_is_mounted() -> None:
    made = pod_spec()
    assert "volumes" not in made
    assert "volumeMounts" not in made["containers"][0]


def test_a_folder_of_the_node_is_refused_unless_the_settings_allow_it() -> None:
    work = mounting(("data", "/in", False), ("/srv/data", "/out", False))
    refuse_what_cannot_run(work, KubernetesSettings(allow_paths=["/srv"]))
    with pytest.raises(Refusal, match=r"wants the host's folder /srv/data, .* allow_paths"):
        refuse_what_cannot_run(work, KubernetesSettings())


def claim(volume: str | None = None, kind: str | None = None, **annotations: str) -> dict[str, Any]:
    return {
        "metadata": {"name": "data", "annotations": annotations},
        "spec": {"volumeName": volume, "storageClassName": kind},
    }


@pytest.mark.parametrize(
    ("found", "kind"),
    [
        (claim(kind="fast"), "fast"),
        (claim(kind="fast", **{CLASS: "slow"}), "slow"),
        (claim(), ""),
        (claim(volume="v", kind="fast"), ""),
        (claim(kind="fast", **{SELECTED_NODE: "n1"}), ""),
    ],
)
def test_only_an_unbound_claim_with_a_class_and_no_node_can_wait_for_a_scheduler(
    found: dict[str, Any], kind: str
) -> None:
    assert waits_for_scheduler(found) == kind
