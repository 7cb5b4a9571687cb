"""A workload as a pod: what it may use, where it runs, what it is told, and what is not taken at all."""

from typing import Any

import pytest

from dovetail.backends.contract import Assignment, Refusal
from dovetail.backends.kubernetes.manifest import pod_of, refuse_what_cannot_run
from dovetail.backends.kubernetes.naming import pod_name
from dovetail.backends.kubernetes.settings import KubernetesSettings
from dovetail.model.task import TaskId
from dovetail.model.workloads.workload import Workload


def assignment(**fields: Any) -> Assignment:
    spec = Workload.model_validate({"name": "work", "run": {"image": "busybox", "command": ["true"]}} | fields)
    return Assignment("7.0.2", TaskId(7, 0), "n1", spec)


def spec_of(settings: dict[str, Any] | None = None, **fields: Any) -> dict[str, Any]:
    found: dict[str, Any] = pod_of(assignment(**fields), "me", "n1", KubernetesSettings.model_validate(settings or {}))[
        "spec"
    ]
    return found


def test_requests_are_what_it_was_placed_by_and_limits_what_it_may_use() -> None:
    resources = {"cpu": 0.5, "memory": "1GiB", "gpu": 2, "example.com/part": 3}
    (made,) = spec_of(resources=resources, limits={"cpu": 2, "memory": "2GiB"})["containers"]
    assert made["resources"] == {
        "requests": {"cpu": "500m", "memory": str(2**30), "nvidia.com/gpu": "2", "example.com/part": "3"},
        "limits": {"cpu": "2000m", "memory": str(2**31), "nvidia.com/gpu": "2", "example.com/part": "3"},
    }


def test_a_limit_alone_is_not_taken_for_a_request() -> None:
    (made,) = spec_of(limits={"memory": "1GiB"})["containers"]
    assert made["resources"] == {"requests": {"memory": "0"}, "limits": {"memory": str(2**30)}}


def test_it_runs_on_the_node_or_is_bound_there_by_a_scheduler() -> None:
    assert spec_of()["nodeName"] == "n1"
    through = spec_of({"scheduler": "default-scheduler"})
    assert "nodeName" not in through
    (term,) = through["affinity"]["nodeAffinity"]["requiredDuringSchedulingIgnoredDuringExecution"]["nodeSelectorTerms"]
    assert term == {"matchFields": [{"key": "metadata.name", "operator": "In", "values": ["n1"]}]}


def test_commands_and_variables_arrive_as_they_were_written() -> None:
    run = {"image": "i", "command": ["echo", "$(HOME)"], "env": {"A": "$(B)"}, "workdir": "/srv"}
    (made,) = spec_of(run=run)["containers"]
    assert (made["command"], made["workingDir"]) == (["echo", "$$(HOME)"], "/srv")
    assert "args" not in made  # the command is all that runs, instead of the image's entry point
    env = {each["name"]: each["value"] for each in made["env"]}
    assert env["A"] == "$$(B)"
    assert (env["DOVETAIL_TASK"], env["DOVETAIL_ATTEMPT"], env["DOVETAIL_NODE"]) == ("7.0", "2", "n1")


def test_time_limits_tolerations_and_grace_are_the_workloads() -> None:
    tolerations = [
        {"key": "a", "value": "b", "effect": "NoSchedule"},
        {"operator": "Exists", "toleration_seconds": "5s"},
    ]
    made = spec_of(deadline={"run_for": "90s"}, disruption={"grace": "1500ms"}, tolerations=tolerations)
    assert (made["activeDeadlineSeconds"], made["terminationGracePeriodSeconds"]) == (90, 2)
    assert made["tolerations"] == [
        {"operator": "Equal", "key": "a", "value": "b", "effect": "NoSchedule"},
        {"operator": "Exists", "effect": "NoExecute", "tolerationSeconds": 5},
    ]
    # 0 would let the API server forget the pod while it still runs.
    assert spec_of(disruption={"grace": 0})["terminationGracePeriodSeconds"] == 1


def test_pods_get_no_token_unless_they_have_an_account() -> None:
    assert spec_of()["automountServiceAccountToken"] is False
    given = spec_of({"service_account": "runner", "pull_secrets": ["registry"], "priority_class": "low"})
    assert (given["automountServiceAccountToken"], given["serviceAccountName"]) == (True, "runner")
    assert (given["imagePullSecrets"], given["priorityClassName"]) == ([{"name": "registry"}], "low")


@pytest.mark.parametrize(
    ("fields", "words"),
    [
        ({"run": {"command": ["true"]}}, "names no image"),
        ({"kind": "vm"}, "is of kind vm"),
        ({"resources": {"gpu": 0.5}}, "a share of a GPU"),
        ({"run": {"image": "i", "volumes": [{"source": "/data", "target": "/data"}]}}, "wants the host's folder /data"),
    ],
)
def test_what_it_cannot_run_is_refused(fields: dict[str, Any], words: str) -> None:
    with pytest.raises(Refusal, match=words):
        refuse_what_cannot_run(assignment(**fields), KubernetesSettings())


def test_a_default_image_runs_what_names_none() -> None:
    settings = KubernetesSettings(default_image="debian:12")
    work = assignment(run={"command": ["true"]})
    refuse_what_cannot_run(work, settings)
    assert pod_of(work, "me", "n1", settings)["spec"]["containers"][0]["image"] == "debian:12"


def test_names_follow_from_keys_and_are_the_apis() -> None:
    assert pod_name("Team_A", "me", "7.0.2") == "team-a-me-7-0-2"
    with pytest.raises(ValueError, match="not the key of an attempt"):
        pod_name("dovetail", "me", "../etc")
