"""Gangs as one job of OpenPBS, over the stand-in: a chunk for each task, begun together, ended one by one."""

import json
from pathlib import Path
from typing import Any

import pytest
from tests.contract.backends.batch_rig import bind_all, replicas, shell
from tests.contract.backends.conformance import LONG_S, run_async, started
from tests.contract.backends.pbs.openpbs_rig import openpbs_subject
from tests.servers.openpbs.server import OpenPbsStandIn

from dovetail.backends.contract import Assignment, Phase
from dovetail.model.command import GangStart
from dovetail.model.event import BindFailed, TaskStarted

pytestmark = [pytest.mark.needs_server, pytest.mark.xdist_group("openpbs")]


def gang(workload: int, nodes: list[str], script: str, **fields: Any) -> list[Assignment]:
    spec = shell(script, replicas=len(nodes), gang={"min": len(nodes)}, **fields)
    works = replicas(workload, spec, dict(enumerate(nodes)))
    start = GangStart(works[0].key, len(works))
    return [Assignment(work.key, work.task, work.node, work.spec, gang=start) for work in works]


def gang_jobs(server: OpenPbsStandIn, works: list[Assignment]) -> list[dict[str, Any]]:
    jobs = json.loads(server.call("qstat", "-x", "-t", "-f", "-F", "json")).get("Jobs", {})
    return [job for job in jobs.values() if f"-{works[0].task.workload}." in str(job["Job_Name"])]


def test_a_gang_is_one_job_with_a_chunk_for_each_task(openpbs: OpenPbsStandIn, tmp_path: Path) -> None:
    async def scene() -> None:
        async with started(openpbs_subject(openpbs, tmp_path, place="scatter:shared")) as rig:
            works = gang(8201, ["v1", "v2", "v3"], "echo $DOVETAIL_REPLICA on $PBS_NODENUM; exit $DOVETAIL_REPLICA")
            await bind_all(rig, works)
            assert [(await rig.finished(work.key)).exit_code for work in works] == [0, 1, 2]
            texts = [(await rig.backend.logs(work.key, 0, 100)).text for work in works]
            assert texts == ["0 on 0\n", "1 on 1\n", "2 on 2\n"]
            (job,) = gang_jobs(openpbs, works)
            assert job["Resource_List"]["select"] == "+".join(
                f"1:ncpus=1:mem=100mb:vnode={node}" for node in ("v1", "v2", "v3")
            )
            assert job["Resource_List"]["place"] == "scatter:shared"
            assert job["Variable_List"]["DOVETAIL_KEYS"] == "8201.0.1:8201.1.1:8201.2.1"

    run_async(scene)


def test_members_on_one_node_share_a_chunk_with_a_count(openpbs: OpenPbsStandIn, tmp_path: Path) -> None:
    async def scene() -> None:
        async with started(openpbs_subject(openpbs, tmp_path)) as rig:
            works = gang(8202, ["v1", "v2", "v1"], "true")
            await bind_all(rig, works)
            for work in works:
                assert (await rig.finished(work.key)).exit_code == 0
            (job,) = gang_jobs(openpbs, works)
            assert job["Resource_List"]["select"] == "2:ncpus=1:mem=100mb:vnode=v1+1:ncpus=1:mem=100mb:vnode=v2"

    run_async(scene)


def test_a_member_that_ends_is_reported_while_the_others_run(openpbs: OpenPbsStandIn, tmp_path: Path) -> None:
    async def scene() -> None:
        async with started(openpbs_subject(openpbs, tmp_path)) as rig:
            works = gang(8203, ["v1", "v2"], f"[ $DOVETAIL_REPLICA = 0 ] || sleep {LONG_S}; exit 3")
            await bind_all(rig, works)
            assert (await rig.finished(works[0].key)).exit_code == 3
            assert (await rig.backend.status(works[1].key)).phase is Phase.RUNNING
            await rig.backend.stop(works[1].key, "enough")
            assert (await rig.finished(works[1].key)).exit_code is None

    run_async(scene)


def test_one_member_is_stopped_and_the_others_run_on(openpbs: OpenPbsStandIn, tmp_path: Path) -> None:
    async def scene() -> None:
        async with started(openpbs_subject(openpbs, tmp_path)) as rig:
            works = gang(8204, ["v1", "v2"], f"sleep {LONG_S}")
            await bind_all(rig, works)
            for work in works:
                await rig.reports.until(TaskStarted, work.key)
            await rig.backend.stop(works[0].key, "one is enough")
            end = await rig.finished(works[0].key)
            assert (end.exit_code, end.reason) == (None, "RUNNING: stopped: one is enough")
            assert (await rig.backend.status(works[1].key)).phase is Phase.RUNNING
            await rig.backend.stop(works[1].key, "and so is none")
            assert (await rig.finished(works[1].key)).exit_code is None

    run_async(scene)


def test_a_gang_that_waits_begins_whole_or_goes_back_whole(openpbs: OpenPbsStandIn, tmp_path: Path) -> None:
    stranger = openpbs.call("qsub", "-l", "select=1:ncpus=4:vnode=v4", given=f"sleep {LONG_S}").strip()

    async def scene() -> None:
        async with started(openpbs_subject(openpbs, tmp_path, start_within_s=2)) as rig:
            works = gang(8205, ["v1", "v4"], "true")
            await bind_all(rig, works)
            for work in works:
                failed = await rig.reports.until(BindFailed, work.key)
                assert "PBS did not start it" in failed.reason or "its gang did not start" in failed.reason
            assert not rig.reports.of(TaskStarted)

    try:
        run_async(scene)
    finally:
        openpbs.call("qdel", stranger)


def test_a_gang_whose_reply_was_lost_is_found_by_its_keys(openpbs: OpenPbsStandIn, tmp_path: Path) -> None:
    subject = openpbs_subject(openpbs, tmp_path)

    async def scene() -> None:
        works = gang(8206, ["v1", "v2"], "sleep 1; exit 4")
        async with started(subject) as before:
            await bind_all(before, works)
        for work in works:  # as if the control plane had died before it wrote the id down
            order = tmp_path / "runs" / work.key / "order.json"
            order.write_text(json.dumps(json.loads(order.read_text()) | {"job": None}))
        async with started(subject) as after:
            await bind_all(after, works)
            assert [(await after.finished(work.key)).exit_code for work in works] == [4, 4]
        assert len(gang_jobs(openpbs, works)) == 1

    run_async(scene)


def test_without_gang_jobs_the_jobs_of_a_gang_wait_for_each_other(openpbs: OpenPbsStandIn, tmp_path: Path) -> None:
    async def scene() -> None:
        async with started(openpbs_subject(openpbs, tmp_path, gang_jobs=False)) as rig:
            works = gang(8207, ["v1", "v2"], "exit $DOVETAIL_REPLICA")
            await bind_all(rig, works)
            assert [(await rig.finished(work.key)).exit_code for work in works] == [0, 1]
            assert len(gang_jobs(openpbs, works)) == 2

    run_async(scene)
