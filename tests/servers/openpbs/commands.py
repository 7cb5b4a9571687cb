"""qsub, qstat, qdel, pbsnodes and pbsdsh of the stand-in: their options, their output and their words for errors.

The formats follow the published documentation of OpenPBS 22: `qstat -f -F json` has `Jobs` by id, `-Q` has `Queue`,
pbsnodes has `nodes`; a value that looks like a number is one.
"""

import getopt
import json
import re
import time
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from tests.servers.openpbs.complex import Complex, Job, Vnode
from tests.servers.openpbs.requests import PbsError, indices_of, wanted_of

VERSION = "22.05.11"
UNKNOWN_STATUS, FINISHED_STATUS = 153, 35
Entries = dict[str, dict[str, Any]]


@dataclass
class Call:
    """One call of a command."""

    words: list[str]
    given: str
    environment: dict[str, str]

    def options(self, letters: str) -> tuple[list[tuple[str, str]], list[str]]:
        try:
            return getopt.gnu_getopt(self.words, letters, ["version"])
        except getopt.GetoptError as error:
            raise PbsError(f"usage: {error}", 2) from None


def qsub(pbs: Complex, call: Call) -> str:
    options, files = call.options("N:S:j:o:e:r:l:q:A:P:J:W:v:k:h")
    said = {name: value for name, value in options if name != "-l"}
    name = said.get("-N", "STDIN")
    if not re.fullmatch(r"[A-Za-z][A-Za-z0-9_.+-]{0,235}", name):
        raise PbsError("illegal -N value")
    queue = said.get("-q", "workq")
    if queue not in pbs.queues:
        raise PbsError("Unknown queue", 170)
    if pbs.queues[queue]["enabled"] != "True":
        raise PbsError("Queue is not enabled", 183)
    wanted = wanted_of([value for name, value in options if name == "-l"], pbs.resources)
    variables = dict(item.partition("=")[::2] for item in said.get("-v", "").split(",") if item)
    script = Path(files[0]).read_text() if files else call.given
    attributes = {"shell": said.get("-S", "/bin/sh"), "rerunable": said.get("-r", "y")}
    for option, attribute in {"-A": "Account_Name", "-P": "project", "-W": "W", "-J": "range"}.items():
        if option in said:
            attributes[attribute] = said[option]
    indices: list[int] | list[None] = indices_of(said["-J"]) if "-J" in said else [None]
    with pbs.lock:
        pbs.last += 1
        output = said.get("-o", str(pbs.folder / "spool" / f"{name}.o{pbs.last}"))
        waits = re.fullmatch(r"depend=afterok:(\d+).*", said.get("-W", ""))
        state = "H" if "-h" in said or waits else "Q"
        made = [
            Job(pbs.last, index, name, wanted, script, queue, variables, output, attributes, state) for index in indices
        ]
        for job in made:
            job.after = int(waits[1]) if waits else None
        pbs.submit(made)
        return f"{pbs.last}{'[]' if '-J' in said else ''}.{pbs.server}\n"


def qstat(pbs: Complex, call: Call) -> str:
    options, ids = call.options("fxtQF:")
    given = dict(options)
    if "--version" in given:
        return f"pbs_version = {VERSION}\n"
    with pbs.lock:
        if "-Q" in given:
            return _answer("Queue", {name: dict(queue) for name, queue in pbs.queues.items()}, pbs)
        if "-x" in given and not pbs.history:
            raise PbsError("PBS is not configured to maintain job history")
        found, wrong, status = _jobs_of(pbs, ids, history="-x" in given, elements="-t" in given)
    if given.get("-F") != "json" or "-f" not in given:
        raise PbsError("the stand-in has -f -F json only", 2)
    text = _answer("Jobs", found, pbs)
    if wrong:
        raise Partly(text, "\n".join(f"qstat: {line}" for line in wrong), status)
    return text


class Partly(Exception):
    """Some of it could be answered."""

    def __init__(self, said: str, wrong: str, status: int) -> None:
        super().__init__(wrong)
        self.said, self.wrong, self.status = said, wrong, status


def _jobs_of(pbs: Complex, ids: list[str], *, history: bool, elements: bool) -> tuple[Entries, list[str], int]:
    found: Entries = {}
    wrong: list[str] = []
    status = 0
    for each in ids or sorted({f"{job.number}{'' if job.index is None else '[]'}" for job in pbs.jobs}):
        jobs = _named(pbs, each)
        shown = [job for job in jobs if history or not job.is_over]
        if not jobs or (not shown and not pbs.history):
            wrong.append(f"Unknown Job Id {each}.{pbs.server}") if ids else None
            status = UNKNOWN_STATUS if ids else status
        elif not shown:
            words = f"{each}.{pbs.server} Job has finished, use -x or -H to obtain historical job information"
            wrong.append(words) if ids else None
            status = FINISHED_STATUS if ids else status
        elif "[]" in each:
            found[f"{each}.{pbs.server}"] = _array(jobs)
            if elements:
                found |= {job.id(pbs.server): _job(pbs, job) for job in shown}
        else:
            found |= {job.id(pbs.server): _job(pbs, job) for job in shown}
    return found, wrong, status


def _named(pbs: Complex, text: str) -> list[Job]:
    match = re.match(r"(\d+)(?:\[(\d*)\])?", text)
    if match is None:
        raise PbsError(f"illegally formed job identifier: {text}")
    number, index = int(match[1]), match[2]
    return [
        job
        for job in pbs.jobs
        if job.number == number and (job.index is None) == (index is None) and (not index or job.index == int(index))
    ]


def _job(pbs: Complex, job: Job) -> dict[str, Any]:
    amounts: dict[str, Any] = {n: f"{a // 2**20}mb" if n == "mem" else a for n, a in job.wanted.totals.items()}
    amounts |= {"nodect": len(job.wanted.chunks), "select": job.wanted.text, "place": job.wanted.place}
    if job.wanted.walltime_s is not None:
        amounts["walltime"] = time.strftime("%H:%M:%S", time.gmtime(job.wanted.walltime_s))
    said: dict[str, Any] = {
        "Job_Name": job.name,
        "Job_Owner": f"root@{pbs.server}",
        "job_state": job.state,
        "queue": job.queue,
        "server": pbs.server,
        "Hold_Types": "n" if job.state != "H" else "s" if job.after else "u",
        "Output_Path": f"{pbs.server}:{job.output}",
        "Priority": 0,
        "Rerunable": "True" if job.attributes["rerunable"] == "y" else "False",
        "Resource_List": amounts,
        "Variable_List": {"PBS_O_HOME": "/", "PBS_O_QUEUE": job.queue, **job.variables},
        "comment": job.comment,
        "run_count": job.runs,
    }
    if job.placed:
        said["exec_host"] = "+".join(f"{vnode.name}/0" for vnode in job.placed)
        said["exec_vnode"] = pbs.exec_vnode(job)
    if job.exit_status is not None:
        said["Exit_status"] = job.exit_status
    if job.after is not None:
        said["depend"] = f"afterok:{job.after}.{pbs.server}@{pbs.server}"
    if job.index is not None:
        said |= {"array_id": f"{job.number}[].{pbs.server}", "array_index": job.index}
    for name in ("Account_Name", "project"):
        if name in job.attributes:
            said[name] = job.attributes[name]
    return said


def _array(jobs: list[Job]) -> dict[str, Any]:
    left = [job.index for job in jobs if job.state == "Q"]
    state = "F" if all(job.is_over for job in jobs) else "B" if any(job.state != "Q" for job in jobs) else "Q"
    return {
        "Job_Name": jobs[0].name,
        "job_state": state,
        "array": "True",
        "array_indices_submitted": jobs[0].attributes["range"],
        "array_indices_remaining": ",".join(map(str, left)) or "-",
    }


def qdel(pbs: Complex, call: Call) -> str:
    _, ids = call.options("W:x")
    for each in ids:
        with pbs.lock:
            jobs = _named(pbs, each)
            if not jobs or (not pbs.history and all(job.is_over for job in jobs)):
                raise PbsError(f"Unknown Job Id {each}.{pbs.server}", UNKNOWN_STATUS)
            for job in jobs:
                if len(jobs) == 1 or not job.is_over:
                    pbs.delete(job)
    pbs.schedule()
    return ""


def pbsnodes(pbs: Complex, call: Call) -> str:
    options, names = call.options("aoCrF:")
    given = dict(options)
    with pbs.lock:
        for name in names:
            if "-o" in given or "-r" in given:
                pbs.vnodes[name].offline = "-o" in given
        return _answer("nodes", {name: _vnode(pbs, vnode) for name, vnode in pbs.vnodes.items()}, pbs)


def _vnode(pbs: Complex, vnode: Vnode) -> dict[str, Any]:
    states = [word for word, holds in (("down", vnode.down), ("offline", vnode.offline)) if holds]
    if not states:
        full = vnode.used.get("ncpus", 0) >= vnode.total["ncpus"]
        states = ["job-exclusive" if vnode.exclusive else "job-busy" if full else "free"]
    total = {n: f"{a // 1024}kb" if n == "mem" else a for n, a in vnode.total.items()}
    used = {n: f"{vnode.used.get(n, 0) // 1024}kb" if n == "mem" else vnode.used.get(n, 0) for n in vnode.total}
    said: dict[str, Any] = {
        "Mom": vnode.name,
        "ntype": "PBS",
        "state": ",".join(states),
        "pcpus": vnode.total["ncpus"],
        "resources_available": {"arch": "linux", "host": vnode.name, "vnode": vnode.name, **total, **vnode.words},
        "resources_assigned": used,
        "resv_enable": "True",
        "sharing": "default_shared",
    }
    if vnode.jobs:
        said["jobs"] = [f"{job.id(pbs.server)}/0" for job in vnode.jobs]
    return (
        said | ({"comment": vnode.comment} if vnode.comment else {}) | ({"queue": vnode.queue} if vnode.queue else {})
    )


def pbsdsh(pbs: Complex, call: Call) -> int:
    """`-n CHUNK PROGRAM …`; options end where the program begins."""
    options, command = getopt.getopt(call.words, "n:cosv")
    job = next(job for job in pbs.jobs if job.id(pbs.server) == call.environment.get("PBS_JOBID"))
    return pbs.spawn(job, int(dict(options)["-n"]), command, call.environment)


def standin(pbs: Complex, call: Call) -> str:
    """What OpenPBS does not have: cut a node off, let it back, let the next job of a node fail before it starts; end
    the hold of a job."""
    verb, name, *more = call.words
    with pbs.lock:
        if verb == "spoil":
            pbs.vnodes[name].spoiled = int(more[0])
        elif verb == "release":
            for job in _named(pbs, name):
                job.state = "Q"
        else:
            pbs.vnodes[name].down = verb == "cut"
            pbs.vnodes[name].comment = "node down: communication closed" if verb == "cut" else ""
    pbs.schedule()
    return ""


def _answer(name: str, content: Entries, pbs: Complex) -> str:
    head = {"timestamp": int(time.time()), "pbs_version": VERSION, "pbs_server": pbs.server}
    return json.dumps(head | ({name: content} if content else {}), indent=4) + "\n"


COMMANDS: dict[str, Callable[[Complex, Call], str | int]] = {
    "qsub": qsub,
    "qstat": qstat,
    "qdel": qdel,
    "pbsnodes": pbsnodes,
    "pbsdsh": pbsdsh,
    "standin": standin,
}
