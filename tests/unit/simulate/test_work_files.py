"""Work of other systems: each format becomes arrivals, and mistakes are named with their line."""

import gzip
import json
from typing import Any

import pytest

from dovetail.model.text.complaint import Invalid
from dovetail.simulate.work.arrival import NodeSizes, TimedWork
from dovetail.simulate.work.files import read_work

SIZES = NodeSizes(cpu=8.0, gpus=8)


def read(text: str, sizes: NodeSizes = SIZES) -> list[TimedWork]:
    return read_work(text.encode(), "work", sizes)


def run_s(arrival: TimedWork) -> float | None:
    rehearsal = arrival[1].run.simulate
    return None if rehearsal is None else rehearsal.run_time


def test_a_batch_log_asks_for_cores_and_large_jobs_become_gangs() -> None:
    line = "{} {} 0 60 {} -1 -1 {} 120 -1 1 3 1 1 1 1 -1 -1\n"
    first, second = read("; MaxProcs: 64\n" + line.format(1, 100, 4, 4) + line.format(2, 130, 20, 20))
    assert (first[0], first[1].resources.cpu, first[1].replicas, run_s(first)) == (0.0, 4.0, 1, 60.0)
    assert (second[0], second[1].replicas, second[1].gang.min if second[1].gang else 0) == (30.0, 3, 3)
    assert second[1].deadline.run_for == 120.0
    assert first[1].user == "u3"


def test_openb_asks_for_shares_of_gpus_by_model() -> None:
    head = (
        "name,cpu_milli,memory_mib,num_gpu,gpu_milli,gpu_spec,qos,pod_phase,creation_time,deletion_time,scheduled_time"
    )
    rows = "a,12000,16384,1,460,V100M16|V100M32,LS,Running,10,70,20\nb,1000,1024,2,1000,,BE,Pending,40,,\n"
    packed = gzip.compress(f"{head}\n{rows}".encode())
    first, second = read_work(packed, "pods.csv.gz", SIZES)
    assert (first[0], first[1].resources.gpu, run_s(first)) == (0.0, 0.46, 50.0)
    assert first[1].resources.gpu_model == ["V100M16", "V100M32"]
    assert (second[0], second[1].resources.gpu, run_s(second)) == (30.0, 2, None)


def test_philly_as_json_and_as_csv() -> None:
    detail = [{"ip": "m1", "gpus": [f"gpu{i}" for i in range(8)]}, {"ip": "m2", "gpus": [f"gpu{i}" for i in range(8)]}]
    attempt = {"start_time": "2017-10-09 07:02:00", "end_time": "2017-10-09 08:02:00", "detail": detail}
    job: dict[str, Any] = {
        "status": "Pass",
        "vc": "6214e9",
        "jobid": "x",
        "user": "ab12",
        "submitted_time": "2017-10-09 07:01:55",
    }
    never = job | {"attempts": []}
    (found,) = read(json.dumps([job | {"attempts": [attempt]}, never]))
    assert (found[1].replicas, found[1].resources.gpu, run_s(found)) == (2, 8, 3600.0)
    assert found[1].namespace == "vc-6214e9"
    rows = "timestamp,duration,num_gpus,gpu_time,cluster\n2017-10-09 07:01:55,66.0,1,66.0,11cb48\n"
    (found,) = read(rows)
    assert (found[1].resources.gpu, run_s(found)) == (1, 66.0)


def test_kubernetes_manifests_become_tasks_with_what_their_pods_request() -> None:
    manifests = """
apiVersion: apps/v1
kind: Deployment
metadata: {name: web, namespace: shop}
spec:
  replicas: 3
  template:
    spec:
      nodeSelector: {disk: nvme}
      containers:
      - {name: a, resources: {requests: {cpu: 500m, memory: 1Gi}}}
      - {name: b, resources: {requests: {cpu: "1"}}}
---
apiVersion: v1
kind: Service
metadata: {name: web}
---
apiVersion: batch/v1
kind: Job
metadata: {name: train}
spec:
  parallelism: 4
  template:
    metadata: {labels: {scheduling.x-k8s.io/pod-group: train}}
    spec: {containers: [{name: a, resources: {requests: {nvidia.com/gpu: 2}}}]}
"""
    web, train = (spec for _, spec in read(manifests))
    assert (web.replicas, web.resources.cpu, web.resources.memory, str(web.restart)) == (3, 1.5, 2**30, "always")
    assert web.node_selector == {"disk": "nvme"}
    assert (train.replicas, train.resources.gpu, train.gang.group if train.gang else "") == (4, 2, "train")


def test_our_own_history_comes_again_at_the_same_distances() -> None:
    row: dict[str, Any] = {
        "namespace": "team", "name": "train", "replicas": 2, "cpu": 2.0, "gpu": 1.0, "submitted_at": 1000.0,
        "started_at": 1010.0, "finished_at": 1070.0, "priority": "high", "kind": "job", "user": "ada",
    }  # fmt: skip
    never = row | {"name": "never", "started_at": None}
    again = row | {"submitted_at": 1500.0}
    first, second = read(json.dumps({"items": [again, never, row], "cursor": None}))
    assert (first[0], run_s(first), first[1].replicas, str(first[1].priority)) == (0.0, 60.0, 2, "high")
    assert (second[0], second[1].name) == (500.0, "train-again-1")


def test_workloads_of_our_own_come_when_they_say() -> None:
    first, second = read("- {name: a, at: 10m}\n- {name: b}\n")
    assert [(first[0], first[1].name), (second[0], second[1].name)] == [(0.0, "b"), (600.0, "a")]


@pytest.mark.parametrize(
    ("text", "line", "words"),
    [
        ("; MaxProcs: 4\n1 2 x\n", 2, "3 words"),
        (
            "name,cpu_milli,memory_mib,num_gpu,gpu_milli\na,1000,1,1,1000\nb,many,1,1,1000\n",
            3,
            "'many' is not a number",
        ),
        ("timestamp,duration,num_gpus\nyesterday,1,1\n", 2, "'yesterday' is not a time"),
        ('[{"jobid": "x", "attempts": [{"start_time": "now", "end_time": "then"}]}]', None, "is not a time"),
        ('[{"submitted_at": 1}]', None, "no row of dovetail history"),
        ("apiVersion: v1\nkind: Service\nmetadata: {name: x}\n", None, "holds no manifest"),
        ("- {name: a, colour: red}\n", 1, "colour"),
        ("", None, "holds no work"),
    ],
)
def test_mistakes_are_named(text: str, line: int | None, words: str) -> None:
    with pytest.raises(Invalid, match=words) as caught:
        read(text)
    assert caught.value.complaints[0].line == line
