"""Events are written beside everything else, what is said again is counted, and nothing ever waits for them."""

import asyncio

import pytest
from tests.contract.kubernetes.gate import new_namespace, pod_body, straight
from tests.patience import until
from tests.servers.kubernetes.server import KubeServer

from dovetail.kubernetes_client.api import JsonObject
from dovetail.kubernetes_client.recorder import Recorder

pytestmark = [pytest.mark.needs_server, pytest.mark.xdist_group("kubernetes")]


def _reference_to(pod: JsonObject) -> JsonObject:
    about = pod["metadata"]
    return {"apiVersion": "v1", "kind": "Pod"} | {key: about[key] for key in ("namespace", "name", "uid")}


def test_what_is_said_again_is_one_event_with_a_count(kube_server: KubeServer) -> None:
    async def scene() -> None:
        async with straight(kube_server) as api:
            path = await new_namespace(api, "events")
            subject = _reference_to(await api.create(path, pod_body("watched")))
            recorder = Recorder(api, "dovetail", "test-1")
            for _ in range(3):  # before anything is written
                recorder.record(subject, "FailedScheduling", "no room", "Scheduling", "Warning")
            recorder.record(subject, "Scheduled", "on n1", "Binding")
            recorder.begin()
            await until(lambda: recorder.written == 2, "two events")
            for _ in range(2):  # after it was written
                recorder.record(subject, "FailedScheduling", "no room", "Scheduling", "Warning")
            await recorder.close(patience_s=30)
            found = await api.items("/apis/events.k8s.io/v1/namespaces/events/events")
            counts = {each["reason"]: (each.get("series") or {}).get("count") for each in found}
            said = {each["reason"]: (each["type"], each["note"], counts[each["reason"]]) for each in found}
            assert said == {
                "FailedScheduling": ("Warning", "no room", 5),
                "Scheduled": ("Normal", "on n1", None),
            }
            assert {each["regarding"]["uid"] for each in found} == {subject["uid"]}
            assert {each["reportingController"] for each in found} == {"dovetail"}
            assert recorder.dropped == 0

    asyncio.run(scene())


def test_more_than_can_be_written_is_dropped_and_counted(kube_server: KubeServer) -> None:
    async def scene() -> None:
        async with straight(kube_server) as api:
            path = await new_namespace(api, "too-many-events")
            subject = _reference_to(await api.create(path, pod_body("noisy")))
            recorder = Recorder(api, "dovetail", "test-1", capacity=3)
            for number in range(5):
                recorder.record(subject, "Noise", f"number {number}", "Noise")
            assert recorder.dropped == 2
            recorder.record({**subject, "namespace": "no-such-namespace"}, "Noise", "elsewhere", "Noise")
            recorder.begin()
            await recorder.close(patience_s=30)
            assert (recorder.written, recorder.dropped) == (3, 3)

    asyncio.run(scene())
