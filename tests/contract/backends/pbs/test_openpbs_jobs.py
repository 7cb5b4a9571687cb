"""What OpenPBS does with single jobs and arrays, over the stand-in: reasons, ends, places, limits."""

import json
from pathlib import Path
from typing import Any

import pytest
from tests.contract.backends.batch_rig import bind_all, replicas, shell
from tests.contract.backends.conformance import LONG_S, Rig, run_async, started
from tests.contract.backends.pbs.openpbs_rig import openpbs_subject
from tests.servers.openpbs.server import OpenPbsStandIn, openpbs_stand_in

from dovetail.backends.batch import watched
from dovetail.backends.contract import Assignment, Refusal
from dovetail.model.command import attempt_key
from dovetail.model.event import BindFailed, TaskStarted, TaskWaiting
from dovetail.model.failure_cause import FailureCause
from dovetail.model.task import TaskId
from dovetail.model.workloads.workload import Workload

pytestmark = [pytest.mark.needs_server, pytest.mark.xdist_group("openpbs")]


def work_on(node: str, workload: int, spec: Workload) -> Assignment:
    task = TaskId(workload, 0)
    return Assignment(attempt_key(task, 1), task, node, spec)


def jobs_of(server: OpenPbsStandIn, key: str) -> list[dict[str, Any]]:
    """What the stand-in has under this attempt's name."""
    jobs = json.loads(server.call("qstat", "-x", "-t", "-f", "-F", "json")).get("Jobs", {})
    return [job for job in jobs.values() if str(job["Job_Name"]).endswith(f"-{key}")]


def test_replicas_for_one_node_are_arrays_of_ranges(openpbs: OpenPbsStandIn, tmp_path: Path) -> None:
    """OpenPBS has no lists of indices: replica 3 is missing, so 0-2 and 4-5 are two arrays."""
    spec = shell("echo $DOVETAIL_REPLICA of $DOVETAIL_REPLICAS; exit $DOVETAIL_REPLICA", replicas=9)

    async def scene() -> None:
        async with started(openpbs_subject(openpbs, tmp_path, array_within_s=0.5)) as rig:
            works = replicas(8101, spec, dict.fromkeys((0, 1, 2, 4, 5, 8), "v1"))
            await bind_all(rig, works)
            for work in works:
                assert (await rig.finished(work.key)).exit_code == work.task.replica
                text = f"{work.task.replica} of 9\n"
                assert (await rig.backend.logs(work.key, 0, 100)).text == text
            submitted = sorted(
                job["array_indices_submitted"] for job in jobs_of(openpbs, "8101.x.1") if job.get("array") == "True"
            )
            assert submitted == ["0-2", "4-5"]
            assert len(jobs_of(openpbs, "8101.8.1")) == 1

    run_async(scene)


def test_one_element_is_stopped_and_the_others_run_on(openpbs: OpenPbsStandIn, tmp_path: Path) -> None:
    async def scene() -> None:
        async with started(openpbs_subject(openpbs, tmp_path, array_within_s=0.5)) as rig:
            works = replicas(8102, shell(f"sleep {LONG_S}", replicas=2), {0: "v2", 1: "v2"})
            await bind_all(rig, works)
            for work in works:
                await rig.reports.until(TaskStarted, work.key)
            await rig.backend.stop(works[0].key, "enough")
            assert (await rig.finished(works[0].key)).exit_code is None
            assert (await rig.backend.status(works[1].key)).phase == "running"
            await rig.backend.stop(works[1].key, "enough")
            assert (await rig.finished(works[1].key)).exit_code is None

    run_async(scene)


def test_a_job_says_why_it_waits_and_is_placed_again(
    openpbs: OpenPbsStandIn, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(watched, "WAIT_WORTH_REPORTING_S", 0.2)
    stranger = openpbs.call("qsub", "-l", "select=1:ncpus=4:vnode=v3", given=f"sleep {LONG_S}").strip()

    async def scene() -> None:
        async with started(openpbs_subject(openpbs, tmp_path, start_within_s=5)) as rig:
            work = work_on("v3", 8103, shell("true"))
            await rig.backend.bind(work)
            said = await rig.reports.until(TaskWaiting, work.key)
            assert "waits in PBS on v3: QUEUED (Insufficient amount of resource: ncpus)" in said.why
            failed = await rig.reports.until(BindFailed, work.key)
            assert failed.cause is FailureCause.BACKEND
            assert failed.reason.startswith("PBS did not start it on v3 in ")
            assert not rig.reports.of(TaskStarted)

    try:
        run_async(scene)
    finally:
        openpbs.call("qdel", stranger)


def test_a_held_job_says_who_holds_it(openpbs: OpenPbsStandIn, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(watched, "WAIT_WORTH_REPORTING_S", 0.2)
    first = openpbs.call("qsub", "-h", "-l", "select=1:ncpus=1:vnode=v1", given="exit 0").strip().partition(".")[0]

    async def scene() -> None:
        async with started(openpbs_subject(openpbs, tmp_path)) as rig:
            work = work_on("v1", 8104, shell("exit 5", labels={"pbs/dependency": f"afterok:{first}"}))
            await rig.backend.bind(work)
            said = await rig.reports.until(TaskWaiting, work.key)
            assert "HELD (by the system)" in said.why
            openpbs.call("standin", "release", first)
            assert (await rig.finished(work.key)).exit_code == 5

    run_async(scene)


def test_a_job_whose_dependency_failed_has_failed(openpbs: OpenPbsStandIn, tmp_path: Path) -> None:
    first = openpbs.call("qsub", "-l", "select=1:ncpus=1:vnode=v1", given="sleep 0.5; exit 1").strip().partition(".")[0]

    async def scene() -> None:
        async with started(openpbs_subject(openpbs, tmp_path)) as rig:
            work = work_on("v1", 8105, shell("true", labels={"pbs/dependency": f"afterok:{first}"}))
            await rig.backend.bind(work)
            end = await rig.finished(work.key)
            assert (end.exit_code, end.cause) == (126, FailureCause.WORKLOAD)
            assert "a job that it depends on did not end as it should" in end.reason

    run_async(scene)


def test_a_node_that_cannot_start_a_job_gives_it_back(openpbs: OpenPbsStandIn, tmp_path: Path) -> None:
    openpbs.call("standin", "spoil", "v4", "-1")

    async def scene() -> None:
        async with started(openpbs_subject(openpbs, tmp_path)) as rig:
            work = work_on("v4", 8106, shell("true"))
            await rig.backend.bind(work)
            failed = await rig.reports.until(BindFailed, work.key)
            assert failed.cause is FailureCause.NODE
            assert failed.reason == "FINISHED: its node could not start it, before its files were staged"

    run_async(scene)


def test_labels_choose_queue_place_and_account(openpbs: OpenPbsStandIn, tmp_path: Path) -> None:
    labels = {"pbs/place": "excl", "pbs/queue": "short", "pbs/account": "bio", "pbs/project": "p1"}
    spec = shell(f"sleep {LONG_S}", labels=labels, deadline={"run_for": "30m"}, resources={"cpu": 1, "pbs/fpga": 1})

    async def scene() -> None:
        async with started(openpbs_subject(openpbs, tmp_path)) as rig:
            work = work_on("v3", 8107, spec)
            await rig.backend.bind(work)
            await rig.reports.until(TaskStarted, work.key)
            (job,) = jobs_of(openpbs, work.key)
            assert (job["queue"], job["Account_Name"], job["project"]) == ("short", "bio", "p1")
            asked = job["Resource_List"]
            assert (asked["place"], asked["walltime"]) == ("excl", "00:30:01")
            assert asked["select"] == "1:ncpus=1:mem=100mb:fpga=1:vnode=v3"
            node = json.loads(openpbs.call("pbsnodes", "-a", "-F", "json"))["nodes"]["v3"]
            assert node["state"] == "job-exclusive"
            await rig.backend.stop(work.key, "enough")
            await rig.finished(work.key)

    run_async(scene)


@pytest.mark.parametrize(
    ("fields", "words"),
    [
        ({"labels": {"pbs/place": "sideways"}}, "has the label pbs/place, but place='sideways' cannot be read"),
        ({"labels": {"pbs/queue": "nowhere"}}, "PBS does not take it: Unknown queue"),
        ({"resources": {"cpu": 5}}, "asks for 5 CPUs; v1 has 4 in PBS"),
        ({"run": {"command": ["cat"], "stdin": True}}, "jobs of PBS read nothing"),
    ],
)
def test_what_it_asks_for_wrongly_is_its_own_fault(
    openpbs: OpenPbsStandIn, tmp_path: Path, fields: dict[str, Any], words: str
) -> None:
    async def scene() -> None:
        async with started(openpbs_subject(openpbs, tmp_path)) as rig:
            with pytest.raises(Refusal, match=words) as refused:
                await rig.backend.bind(work_on("v1", 8108, shell("true", **fields)))
            assert refused.value.cause is FailureCause.WORKLOAD

    run_async(scene)


def test_the_time_limit_is_kept_and_a_queue_refuses_more(openpbs: OpenPbsStandIn, tmp_path: Path) -> None:
    async def scene() -> None:
        async with started(openpbs_subject(openpbs, tmp_path, queues=["short"])) as rig:
            long = work_on("v1", 8109, shell("true", deadline={"run_for": "2h"}))
            with pytest.raises(Refusal, match="asks for 120 minutes; queue short gives at most 60"):
                await rig.backend.bind(long)
            work = work_on("v1", 8110, shell(f"sleep {LONG_S}", deadline={"run_for": "1s"}))
            await rig.backend.bind(work)
            assert (await rig.finished(work.key)).exit_code == 124

    run_async(scene)


def test_without_a_history_the_run_folder_says_how_jobs_ended(tmp_path: Path) -> None:
    async def scene(server: OpenPbsStandIn) -> None:
        async with started(openpbs_subject(server, tmp_path)) as rig:
            work = work_on("v1", 8111, shell("exit 7"))
            await rig.backend.bind(work)
            assert (await rig.finished(work.key)).exit_code == 7
            await _stopped(rig, server)

    async def _stopped(rig: Rig, server: OpenPbsStandIn) -> None:
        stranger = server.call("qsub", "-l", "select=1:ncpus=4:vnode=v1", given=f"sleep {LONG_S}").strip()
        work = work_on("v1", 8112, shell("true"))
        await rig.backend.bind(work)
        await rig.backend.stop(work.key, "enough")
        assert (await rig.finished(work.key)).exit_code is None
        server.call("qdel", stranger)

    with openpbs_stand_in(history=False) as server:
        run_async(lambda: scene(server))
