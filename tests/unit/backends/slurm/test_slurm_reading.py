"""Both ways of asking Slurm give the same records; newer ways of slurmrestd to say the same are understood, too."""

from dovetail.backends.slurm import cli_reading, rest_reading
from dovetail.backends.slurm.driver import PartitionRecord, SlurmNode, SlurmReservation
from dovetail.backends.slurm.job_record import JobRecord

NODE_LINE = (
    "NodeName=n3 Arch=x86_64 CoresPerSocket=4  CPUAlloc=2 CPUEfctv=4 CPUTot=4 CPULoad=0.83 AvailableFeatures=big,fast "
    "ActiveFeatures=fast Gres=gpu:a100:2 GresDrain=N/A GresUsed=gpu:a100:1(IDX:0) NodeAddr=127.0.0.1 NodeHostName=vm "
    "Port=58029 Version=22.05.8 OS=Linux 6.18.44 #1 SMP PREEMPT_DYNAMIC @0  RealMemory=4000 AllocMem=100 FreeMem=1822 "
    "Sockets=1 Boards=1 State=MIXED*+DRAIN ThreadsPerCore=1 TmpDisk=50 Weight=1 Owner=N/A MCS_label=N/A "
    "Partitions=all,gpu  BootTime=1794711239 SlurmdStartTime=1794747799 AllocTRES=cpu=2,mem=100M "
    "Reason=fix me please [root@1794748104]"
)
NODE_SAID = {
    "name": "n3", "state": "mixed", "state_flags": ["DRAIN", "NOT_RESPONDING"], "reason": "fix me please", "cpus": 4,
    "real_memory": 4000, "temporary_disk": 50, "alloc_cpus": 2, "alloc_memory": 100, "gres": "gpu:a100:2",
    "gres_used": "gpu:a100:1(IDX:0)", "features": "big,fast", "active_features": "fast", "partitions": ["all", "gpu"],
    "architecture": "x86_64", "cpu_load": 83, "free_memory": 1822,
}  # fmt: skip
NODE = SlurmNode(
    "n3", "MIXED", frozenset({"DRAIN", "NOT_RESPONDING"}), "fix me please", 4, 4000, 50, 2, 100, "gpu:a100:2",
    "gpu:a100:1(IDX:0)", ("fast",), ("all", "gpu"), "x86_64", 0.83, 1822,
)  # fmt: skip

JOB_LINE = (
    "JobId=12 JobName=dovetail-ab12-7.0.1 UserId=root(0) GroupId=root(0) MCS_label=N/A Priority=1 Nice=0 "
    "Account=(null) QOS=(null) JobState=PENDING Reason=ReqNodeNotAvail,_UnavailableNodes:n2 Dependency=(null) "
    "Requeue=0 Restarts=1 BatchFlag=1 Reboot=0 ExitCode=3:9 RunTime=00:00:24 NodeList=n2 BatchHost=n2 "
    "Comment=dovetail default/x JobState=LIE  StdErr=/x"
)


def test_a_node_reads_the_same_both_ways() -> None:
    assert cli_reading.read_node(NODE_LINE) == NODE
    assert rest_reading.read_node(NODE_SAID) == NODE


def test_a_node_as_newer_versions_say_it_reads_the_same() -> None:
    newer = NODE_SAID | {
        "state": ["MIXED", "DRAIN", "NOT_RESPONDING"],
        "state_flags": None,
        "active_features": ["fast"],
        "free_memory": {"set": True, "infinite": False, "number": 1822},
    }
    assert rest_reading.read_node(newer) == NODE


def test_a_job_reads_the_same_both_ways() -> None:
    wanted = JobRecord(12, "dovetail-ab12-7.0.1", "PENDING", "ReqNodeNotAvail, UnavailableNodes:n2", 3, 9, 1, "n2")
    assert cli_reading.read_job(JOB_LINE) == wanted
    said = {
        "job_id": 12, "name": "dovetail-ab12-7.0.1", "job_state": "PENDING", "exit_code": 3 << 8 | 9, "restart_cnt": 1,
        "state_reason": "ReqNodeNotAvail", "state_description": "UnavailableNodes:n2", "nodes": "n2",
    }  # fmt: skip
    assert rest_reading.read_job(said) == wanted
    newer = said | {
        "job_state": ["PENDING"],
        "exit_code": {"return_code": {"set": True, "number": 3}, "signal": {"id": {"set": True, "number": 9}}},
        "restart_cnt": {"set": True, "infinite": False, "number": 1},
    }
    assert rest_reading.read_job(newer) == wanted


def test_a_job_that_is_completing_has_not_ended_whatever_else_is_said() -> None:
    said = {"job_id": 1, "job_state": ["COMPLETED", "COMPLETING"]}
    assert rest_reading.read_job(said).state == "COMPLETING"


def test_partitions_and_reservations_read_the_same_both_ways() -> None:
    line = "PartitionName=gpu AllowGroups=ALL Default=YES MaxTime=1-00:30:00 Nodes=n[3-4] State=UP TotalCPUs=8"
    said = {"name": "gpu", "nodes": "n[3-4]", "state": "UP", "max_time_limit": 1470, "flags": ["default"]}
    newer = {
        "name": "gpu", "nodes": {"configured": "n[3-4]"}, "partition": {"state": ["UP"]}, "flags": ["DEFAULT"],
        "maximums": {"time": {"set": True, "infinite": False, "number": 1470}},
    }  # fmt: skip
    wanted = PartitionRecord("gpu", "n[3-4]", True, True, 1470)
    assert cli_reading.read_partition(line) == rest_reading.read_partition(said) == wanted
    assert rest_reading.read_partition(newer) == wanted
    endless = cli_reading.read_partition("PartitionName=all MaxTime=UNLIMITED Nodes=(null) State=DOWN")
    assert endless == PartitionRecord("all", "", False, False, None)

    line = "ReservationName=maint StartTime=100 EndTime=200 Duration=01:00:00 Nodes=n1 NodeCnt=1 Flags=MAINT"
    said = {"name": "maint", "node_list": "n1", "start_time": 100, "end_time": 200}
    wanted_reservation = SlurmReservation("maint", "n1", 100, 200)
    assert cli_reading.read_reservation(line) == rest_reading.read_reservation(said) == wanted_reservation


def test_accounting_says_who_cancelled_a_job() -> None:
    record = cli_reading.read_accounted("12|12|name|CANCELLED by 1000|None|0:15|n1|100|200")
    wanted = JobRecord(12, "name", "CANCELLED", "by user 1000", 0, 15, 0, "n1", started_s=100, ended_s=200)
    assert record == wanted
    said = {
        "job_id": 12, "name": "name", "state": {"current": "CANCELLED", "reason": "None"}, "nodes": "n1",
        "exit_code": {"status": "SIGNALED", "return_code": None, "signal": {"signal_id": 15, "name": "Terminated"}},
        "array": {"job_id": 0, "task_id": None}, "kill_request_user": "1000", "time": {"start": 100, "end": 200},
    }  # fmt: skip
    assert rest_reading.read_accounted(said) == wanted
    ended = cli_reading.read_accounted("13|4_7|name|OUT_OF_MEMORY|OutOfMemory|0:125|None|Unknown|200")
    assert (ended.state, ended.reason, ended.signal, ended.nodes) == ("OUT_OF_MEMORY", "OutOfMemory", 125, "")
    assert (ended.array, ended.elements, ended.started_s, ended.ended_s) == (4, "7", 0, 200)


def test_an_element_of_an_array_reads_the_same_both_ways() -> None:
    line = "JobId=5 ArrayJobId=4 ArrayTaskId=0 JobName=x UserId=root(0) JobState=RUNNING Reason=None Dependency=(null)"
    said = {"job_id": 5, "array_job_id": 4, "array_task_id": 0, "array_task_string": "", "name": "x"}
    running = JobRecord(5, "x", "RUNNING", array=4, elements="0")
    assert cli_reading.read_job(line) == running
    assert rest_reading.read_job(said | {"job_state": "RUNNING"}) == running
    newer = {"array_job_id": {"set": True, "number": 4}, "array_task_id": {"set": True, "number": 0}}
    assert rest_reading.read_job(said | newer | {"job_state": ["RUNNING"]}) == running
    line = "JobId=4 ArrayJobId=4 ArrayTaskId=1-3,7%2 JobName=x JobState=PENDING Reason=Resources A=b"
    said |= {"job_id": 4, "array_task_id": None, "array_task_string": "1-3,7%2", "state_reason": "Resources"}
    waiting = JobRecord(4, "x", "PENDING", "Resources", array=4, elements="1-3,7%2")
    assert cli_reading.read_job(line) == waiting
    assert rest_reading.read_job(said | {"job_state": "PENDING"}) == waiting
