"""The section `vm` of a workload: what is accepted, and what a mistake is told."""

from typing import Any

import pytest
from pydantic import ValidationError

from dovetail.model.workloads.workload import Workload

MEMORY = {"memory": "1GiB"}


def vm(**fields: Any) -> dict[str, Any]:
    return {"name": "web", "kind": "vm", "resources": MEMORY, "vm": fields}


@pytest.mark.parametrize(
    "fields",
    [
        {"image": "debian-12.qcow2"},
        {"image": "/srv/images/debian.qcow2", "firmware": "uefi"},
        {"kernel": "vmlinuz", "initrd": "initrd.img", "kernel_args": "console=ttyS0"},
        {
            "image": "a",
            "disks": [{"size": "1GiB"}, {"source": "data", "read_only": True}],
            "networks": [{"bridge": "br0"}],
        },
        {"adopt": "legacy vm"},
    ],
)
def test_what_can_boot_is_accepted(fields: dict[str, Any]) -> None:
    spec = Workload.model_validate(vm(**fields))
    assert Workload.model_validate(spec.model_dump(mode="json")) == spec


@pytest.mark.parametrize(
    ("given", "told"),
    [
        (vm(), "says nothing that could boot"),
        (vm(image="../etc/passwd"), "leads upwards"),
        (vm(image="a b"), "neither an absolute path"),
        (vm(image="a", kernel_args="quiet"), "goes with kernel"),
        (vm(kernel="k", firmware="uefi"), "boots from a disk"),
        (vm(adopt="a", machine="pc"), "does not go with adopt"),
        (vm(image="a", disks=[{}]), "either size"),
        (vm(image="a", disks=[{"size": "1GiB", "read_only": True}]), "of no use"),
        (vm(image="a", networks=[{"network": "a", "bridge": "b"}]), "either network"),
        (vm(kernel="k", firmware="uefi-secure"), "uefi-secure boots from a disk"),
        (vm(image="a", huge_pages="2Mi"), "libvirt.org/hugepages-2Mi: 512"),
        (vm(image="a", numa_cell=1), "libvirt.org/numa-1-MiB: 1024"),
        (vm(image="a") | {"resources": {}}, "is missing: a VM gets the memory"),
        (vm(image="a") | {"kind": "job"}, "goes with kind: vm"),
        (vm(image="a") | {"run": {"command": ["true"]}}, "put the command there"),
        (vm(adopt="a") | {"replicas": 2}, "takes over one VM"),
    ],
)
def test_a_mistake_is_told_in_words(given: dict[str, Any], told: str) -> None:
    with pytest.raises(ValidationError, match=told):
        Workload.model_validate(given)


def test_work_of_kind_vm_needs_no_section_for_backends_that_know_what_to_boot() -> None:
    assert Workload.model_validate({"name": "old", "kind": "vm"}).vm is None
