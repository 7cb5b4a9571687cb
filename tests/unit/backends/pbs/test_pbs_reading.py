"""Answers of PBS's commands, in both dialects, written down from their documentation and from Slurm's commands."""

import json
from typing import Any

import pytest

from dovetail.backends.batch.commands import Answer
from dovetail.backends.batch.record import JobId
from dovetail.backends.contract import WorkloadRefusal
from dovetail.backends.pbs.dialect import PbsFault, PbsQueue, PbsSubmission
from dovetail.backends.pbs.inventory import describe
from dovetail.backends.pbs.openpbs import OpenPbs
from dovetail.backends.pbs.request import refuse_what_cannot_run
from dovetail.backends.pbs.select import Chunk, ChunkSelect
from dovetail.backends.pbs.settings import PbsSettings
from dovetail.backends.pbs.torque import Torque
from dovetail.model.resources import CPU, MEMORY
from dovetail.model.workloads.workload import Workload

HEAD = {"timestamp": 1768000000, "pbs_version": "22.05.11", "pbs_server": "head"}
GIB = 2**30


def openpbs_job(**fields: Any) -> dict[str, Any]:
    return {"Job_Name": "dovetail-ab-7.0.1", "job_state": "Q", "Hold_Types": "n", "Resource_List": {}} | fields


def read(jobs: dict[str, Any]) -> list[Any]:
    return OpenPbs().read_jobs(json.dumps({**HEAD, "Jobs": jobs}))


def test_a_running_job_of_openpbs() -> None:
    (record,) = read(
        {
            "12.head": openpbs_job(
                job_state="R",
                comment="Job run at Tue Nov 17 at 10:00 on (v1:ncpus=2:mem=102400kb)",
                exec_vnode="(v1:ncpus=2:mem=102400kb)+(v2:ncpus=1)",
                Variable_List={"PBS_O_HOME": "/root", "DOVETAIL_KEYS": "7.0.1:7.1.1"},
            )
        }
    )
    assert (record.id, record.state, record.reason, record.nodes) == (12, "RUNNING", "", "v1+v2")
    assert (record.keys, record.holds_node, record.exit_status) == (("7.0.1", "7.1.1"), True, None)


def test_queued_held_and_ended_jobs_of_openpbs() -> None:
    waits = "Not Running: Insufficient amount of resource: ncpus"
    select = {"select": "1:ncpus=2:vnode=v3", "place": "free"}
    queued, held, ended, named = read(
        {
            "1.head": openpbs_job(comment=waits, Resource_List=select),
            "2.head": openpbs_job(job_state="H", Hold_Types="us", depend="afterok:1.head@head"),
            "3.head": openpbs_job(job_state="F", Exit_status=-29),
            "4.head": openpbs_job(Job_Name=1.5),
        }
    )
    assert queued.in_words() == "QUEUED (Insufficient amount of resource: ncpus)"
    assert queued.nodes == "v3", "where it asks to run"
    assert held.in_words() == "HELD (by its user and by the system)"
    assert held.waits_for_jobs
    assert ended.exit_status == -29
    assert named.name == "1.5", "JSON of PBS has numbers where texts look like them"


def test_elements_of_an_array_of_openpbs_without_the_array() -> None:
    records = read(
        {
            "5[].head": openpbs_job(job_state="B", array="True", array_indices_submitted="0-2"),
            "5[0].head": openpbs_job(job_state="X", Exit_status=0, array_index=0),
            "5[2].head": openpbs_job(job_state="Q", array_index=2),
        }
    )
    assert [(one.id, one.array, one.elements, one.state) for one in records] == [
        (5, 5, "0", "FINISHED"),
        (5, 5, "2", "QUEUED"),
    ]


@pytest.mark.parametrize("text", ["{", "[]", "not JSON"])
def test_json_that_cannot_be_read_is_no_answer(text: str) -> None:
    with pytest.raises(PbsFault, match="cannot be read"):
        OpenPbs().read_jobs(text)


def test_where_there_is_nothing_nothing_is_read() -> None:
    assert OpenPbs().read_jobs("") == []
    assert OpenPbs().read_jobs(json.dumps(HEAD)) == []


def test_unknown_and_ended_jobs_are_an_answer_and_others_errors_are_not() -> None:
    dialect = OpenPbs()
    unknown = "qstat: Unknown Job Id 9.head\nqstat: 8.head Job has finished, use -x or -H to obtain historical …"
    assert dialect.is_answer(Answer(153, "", unknown))
    assert dialect.is_gone(Answer(35, "", "qdel: Job has finished 8.head"))
    assert not dialect.is_answer(Answer(153, "", f"{unknown}\nqstat: cannot connect to server head"))
    assert not dialect.is_answer(Answer(1, "", ""))


def test_a_server_without_a_history_is_not_asked_for_it_again() -> None:
    dialect = OpenPbs()
    assert "-x" in dialect.jobs_arguments
    assert dialect.keeps_no_history(Answer(1, "", "qstat: PBS is not configured to maintain job history"))
    assert "-x" not in dialect.jobs_arguments
    assert not dialect.keeps_no_history(Answer(1, "", "qstat: PBS is not configured to maintain job history"))


def test_vnodes_of_openpbs_become_nodes() -> None:
    text = json.dumps(
        {
            **HEAD,
            "nodes": {
                "v1": {
                    "state": "free",
                    "resources_available": {"ncpus": 8, "mem": "33554432kb", "ngpus": 2, "fpga": 3, "switch": "s1"},
                    "resources_assigned": {"ncpus": 3, "mem": "1048576kb", "ngpus": 1, "fpga": 1},
                },
                "v2": {
                    "state": "down,offline",
                    "comment": "fan broken",
                    "queue": "gpu",
                    "resources_available": {"ncpus": 4, "mem": "1gb", "host": "box", "scratch": "10gb"},
                },
                "v3": {"state": "job-exclusive", "resources_available": {"ncpus": 4, "mem": "1gb"}},
            },
        }
    )
    queues = OpenPbs().read_queues(
        json.dumps(
            {
                **HEAD,
                "Queue": {
                    "workq": {"queue_type": "Execution", "enabled": "True", "started": "True"},
                    "gpu": {"enabled": "True", "started": "False", "resources_max": {"walltime": "02:00:00"}},
                    "route": {"queue_type": "Route", "enabled": "True", "started": "True"},
                },
            }
        )
    )
    assert queues == [PbsQueue("workq"), PbsQueue("gpu", open=False, max_s=7200)]
    ours = {"v1": {CPU: 2000, MEMORY: GIB, "pbs/fpga": 1}, "v3": {CPU: 1000}}
    found = describe(PbsSettings(prices={"v*": 2}), "pbs", OpenPbs().read_nodes(text), queues, ours)
    first, second, third = (found[name] for name in ("v1", "v2", "v3"))
    capacity = first.node.capacity
    assert (capacity.cpu, capacity.memory, capacity.gpu) == (7, 32 * GIB, 1)
    assert capacity.amounts()["pbs/fpga"] == 3
    assert first.node.labels == {"hostname": "v1", "pbs.resource/switch": "s1"}
    assert not first.is_lost
    assert second.silent == "down in PBS: fan broken"
    assert second.closed == "offline in PBS: fan broken"
    assert (second.queue, second.max_minutes, second.is_lost) == ("gpu", 120, True)
    assert second.node.labels["hostname"] == "box"
    assert third.node.capacity.cpu == 1, "only what is ours of a node that a job has alone"


def test_only_wanted_queues_and_what_is_closed_there() -> None:
    node = OpenPbs().read_nodes(
        json.dumps({"nodes": {"v1": {"state": "free", "queue": "other"}, "v2": {"state": "busy"}}})
    )
    found = describe(
        PbsSettings(queues=["shut", "open"]), "pbs", node, [PbsQueue("shut", open=False), PbsQueue("open")], {}
    )
    assert list(found) == ["v2"]
    assert (found["v2"].queue, found["v2"].returns) == ("open", True)
    closed = describe(PbsSettings(queues=["gone"]), "pbs", node, [], {})["v2"]
    assert closed.queue == "gone"


JOBS_OF_SLURM = """\
Job Id:\t7
\tJob_Name = dovetail-ab-7.0.1
\tJob_Owner = root@head
\tjob_state = R
\tqueue = all
\texec_host = n1/2+n2/4
\tResource_List.walltime = 00:10:00

Job Id:\t8
\tJob_Name = other
\tjob_state = C

"""
JOBS_OF_TORQUE = """\
Job Id: 9.head
    Job_Name = dovetail-ab-9.0.1
    job_state = C
    exit_status = 271
    Variable_List = PBS_O_HOME=/root,PBS_O_LANG=C,
\tPBS_O_PATH=/usr/bin
    comment = killed

"""
NODES_OF_SLURM = """\
n1
    state = free
    np = 4
    properties = fast big
    ntype = cluster
    status = rectime=1,state=free,slurmstate=idle,size=0kb:0kb,ncpus=4,availmem=4000mb,arch=x86_64
    gpus = 2

n2
    state = down
    np = 4
    ntype = cluster
    status = rectime=1,state=down,slurmstate=down*,message="Not responding",ncpus=4,availmem=4000mb
    note = Not responding

"""
NODES_OF_TORQUE = """\
t1
     state = free
     np = 8
     ntype = cluster
     jobs = 0-2/12.head, 5/13.head
     status = rectime=1,physmem=16777216kb,availmem=8388608kb,loadave=1.50,ncpus=8

"""


def test_jobs_of_slurms_commands_and_of_torque() -> None:
    running, over = Torque().read_jobs(JOBS_OF_SLURM)
    assert (running.id, running.name, running.state, running.nodes) == (7, "dovetail-ab-7.0.1", "RUNNING", "n1/2+n2/4")
    assert (over.state, over.exit_status) == ("COMPLETED", None)
    (torque,) = Torque().read_jobs(JOBS_OF_TORQUE)
    assert (torque.id, torque.exit_status, torque.reason) == (9, 271, "killed")


def test_nodes_of_slurms_commands_use_what_jobs_have() -> None:
    dialect = Torque()
    nodes = dialect.read_nodes(NODES_OF_SLURM)
    assert dialect.needs_jobs_for_use(nodes)
    first, second = dialect.with_use(nodes, dialect.read_jobs(JOBS_OF_SLURM))
    assert (first.cpus, first.used_cpus, first.memory_bytes, first.gpus) == (4, 2, 4000 * 2**20, 2)
    assert first.properties == ("fast", "big")
    assert (second.states, second.comment, second.used_cpus) == (frozenset({"down"}), "Not responding", 4)


def test_nodes_of_torque_say_themselves_what_is_used() -> None:
    dialect = Torque()
    (node,) = dialect.read_nodes(NODES_OF_TORQUE)
    assert not dialect.needs_jobs_for_use([node])
    assert (node.used_cpus, node.memory_bytes, node.load) == (4, 16 * GIB, 1.5)
    found = describe(PbsSettings(), "pbs", [node], [], {})["t1"]
    assert found.node.capacity.cpu == 4
    assert found.used == {CPU: 1500, MEMORY: 8 * GIB}


def test_queues_of_torque() -> None:
    text = "Queue:\tall\n\tqueue_type = Execution\n\tenabled = yes\n\tstarted = no\n\n"
    assert Torque().read_queues(text) == [PbsQueue("all", open=False)]


SUBMISSION = PbsSubmission(
    name="dovetail-ab-7.0.1",
    script="exit 0",
    select=ChunkSelect((Chunk(1, {"ncpus": "2", "mem": "100mb", "ngpus": "1", "vnode": "v1"}),)),
    place="free",
    queue="workq",
    walltime_s=90,
    account="bio",
    depend="afterok:3",
)


def test_how_a_job_is_submitted() -> None:
    of_openpbs, of_torque = OpenPbs().submit_arguments(SUBMISSION), Torque().submit_arguments(SUBMISSION)
    assert "select=1:ncpus=2:mem=100mb:ngpus=1:vnode=v1" in of_openpbs
    assert {"place=free", "walltime=00:01:30", "depend=afterok:3", "bio", "workq"} <= set(of_openpbs)
    assert "nodes=v1:ppn=2:gpus=1,mem=100mb,walltime=00:01:30" in of_torque
    assert of_torque[-1] == "/dev/stdin"


def test_ids_of_jobs() -> None:
    dialect = OpenPbs()
    assert dialect.read_submitted("12.head\n") == dialect.read_submitted("12[].head") == 12
    assert dialect.read_submitted("oops") is None
    assert (dialect.id_to_ask(JobId(5, 3)), dialect.id_to_delete(JobId(5, 3))) == ("5[]", "5[3]")
    assert Torque().read_submitted("77\n") == 77


def test_errors_of_submissions() -> None:
    assert OpenPbs().submission_error(Answer(1, "", "qsub: Unknown queue\n")) == "Unknown queue"
    said = "There was an error …\n'sbatch: error: Batch job submission failed: Invalid account or …'\n"
    assert Torque().submission_error(Answer(1, said, "")) == "Invalid account or …"


@pytest.mark.parametrize("place", ["sideways", "", "excl:excl"])
def test_a_place_that_pbs_does_not_know_is_refused_in_the_settings(place: str) -> None:
    with pytest.raises(ValueError, match="place"):
        PbsSettings(place=place)


@pytest.mark.parametrize("url", ["http://head", "ssh://", "ssh://@", "ssh://head:port", "ssh://head -v"])
def test_an_address_that_is_none_is_refused(url: str) -> None:
    with pytest.raises(ValueError, match=r"ssh://|address"):
        PbsSettings(url=url)


@pytest.mark.parametrize("label", ["pbs/account", "pbs/project", "pbs/queue", "pbs/dependency"])
@pytest.mark.parametrize("value", ["a;id", "$(id)", "-I", "a'b", "a|b", "`id`"])
def test_a_label_cannot_become_a_command(label: str, value: str) -> None:
    spec = Workload.model_validate({"name": "w", "labels": {label: value}, "run": {"command": ["true"]}})
    with pytest.raises(WorkloadRefusal, match="is not a word"):
        refuse_what_cannot_run(spec)
