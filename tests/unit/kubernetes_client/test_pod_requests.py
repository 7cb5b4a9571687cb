"""What a pod takes of its node."""

from typing import Any

from tests.unit.kubernetes.manifests import container, pod

from dovetail.kubernetes_client.pod_requests import requests_of

GI = 2**30


def _of(**spec: Any) -> dict[str, int]:
    return dict(requests_of(pod(**spec)))


def test_containers_add_up_and_every_pod_takes_a_slot() -> None:
    found = _of(containers=[container("500m", "1Gi"), container("250m", "512Mi", "d")])
    assert found == {"cpu": 750, "memory": 3 * GI // 2, "slots": 1}


def test_the_largest_init_container_counts_where_it_is_more_than_all_containers() -> None:
    found = _of(containers=[container("1", "1Gi")], initContainers=[container("3", "512Mi", "i")])
    assert found == {"cpu": 3000, "memory": GI, "slots": 1}


def test_a_sidecar_counts_beside_the_containers_and_beside_later_init_containers() -> None:
    early, sidecar = container("2", "1Gi", "early"), container("1", "1Gi", "side", restartPolicy="Always")
    late = container("2500m", "1Gi", "late")
    found = _of(containers=[container("1", "1Gi")], initContainers=[early, sidecar, late])
    assert found == {"cpu": 3500, "memory": 2 * GI, "slots": 1}


def test_overhead_comes_on_top_and_what_is_asked_for_the_pod_replaces_its_containers() -> None:
    whole = {"requests": {"cpu": "200m"}, "limits": {"memory": "9Gi"}}
    found = _of(containers=[container("1", "1Gi")], resources=whole, overhead={"cpu": "50m", "memory": "1Mi"})
    assert found == {"cpu": 250, "memory": GI + 2**20, "slots": 1}


def test_sums_are_rounded_once_and_nothing_is_asked_for_that_comes_to_nothing() -> None:
    tiny = {"name": "c", "resources": {"requests": {"cpu": "400u", "memory": "0"}}}
    assert _of(containers=[tiny, tiny]) == {"cpu": 1, "slots": 1}


def test_extended_resources_keep_their_name_and_native_ones_get_a_domain() -> None:
    asked = {"name": "c", "resources": {"requests": {"nvidia.com/gpu": "2", "hugepages-2Mi": "4Mi"}}}
    assert _of(containers=[asked]) == {"nvidia.com/gpu": 2, "kubernetes.io/hugepages-2Mi": 4 * 2**20, "slots": 1}


def _resized(**status: Any) -> dict[str, Any]:
    found = pod(cpu="1")
    has = {"name": "c", "resources": {"requests": {"cpu": "3"}}, "allocatedResources": {"cpu": "2"}}
    found["status"] = {"containerStatuses": [has], **status}
    return found


def test_a_pod_on_a_node_takes_the_most_of_what_it_asks_for_has_and_was_promised() -> None:
    assert dict(requests_of(_resized(), with_status=True))["cpu"] == 3000
    assert dict(requests_of(_resized()))["cpu"] == 1000  # one that waits has nothing yet


def test_a_resize_that_the_node_refused_does_not_count() -> None:
    found = _resized(conditions=[{"type": "PodResizePending", "reason": "Infeasible"}])
    found["spec"]["containers"][0]["resources"]["requests"]["cpu"] = "8"
    assert dict(requests_of(found, with_status=True))["cpu"] == 3000
    found["status"]["conditions"][0]["reason"] = "Deferred"
    assert dict(requests_of(found, with_status=True))["cpu"] == 8000


def test_a_resize_of_the_whole_pod_counts_likewise() -> None:
    found = pod(resources={"requests": {"cpu": "1"}})
    found["status"] = {"resources": {"requests": {"cpu": "2"}}, "allocatedResources": {"cpu": "1500m"}}
    assert dict(requests_of(found, with_status=True))["cpu"] == 2000
