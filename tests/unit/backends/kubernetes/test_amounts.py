"""Resources of Kubernetes under our names and in our units; GPUs are GPUs."""

from typing import Any

import pytest

from dovetail.backends.kubernetes.amounts import amounts_of, taken_by

GPU = "nvidia.com/gpu"


def test_a_node_is_read_in_our_units() -> None:
    allocatable = {"cpu": "3920m", "memory": "1.5Gi", "ephemeral-storage": "10G", "pods": "110", GPU: "8"}
    assert amounts_of({**allocatable, "example.com/part": "3"}, GPU) == {
        "cpu": 3920,
        "memory": 3 * 2**29,
        "disk": 10**10,
        "slots": 110,
        "gpu": 8000,
        "example.com/part": 3,
    }


def test_what_a_cluster_calls_its_gpus_is_a_setting() -> None:
    assert amounts_of({"amd.com/gpu": "2", GPU: "1"}, "amd.com/gpu") == {"gpu": 2000, GPU: 1}


def test_a_pod_takes_what_its_scheduler_counts() -> None:
    def container(cpu: str, **extra: Any) -> dict[str, Any]:
        return {"resources": {"requests": {"cpu": cpu, GPU: "1"}}, **extra}

    spec = {"containers": [container("100m")], "initContainers": [container("280m")], "overhead": {"cpu": "10m"}}
    assert taken_by({"spec": spec}, GPU) == {"cpu": 290, "gpu": 1000, "slots": 1}


def test_what_is_no_quantity_is_refused() -> None:
    with pytest.raises(ValueError, match="not a quantity"):
        amounts_of({"cpu": "many"}, GPU)
