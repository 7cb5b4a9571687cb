"""The stand-in for an OpenPBS server, its scheduler and the daemons of its nodes: jobs are real processes here.

What matters to a client is as OpenPBS has it: jobs wait for what they ask for, and say why; chunks are placed by
`place`; a job that is deleted gets SIGTERM and, after a delay, SIGKILL; its exit status tells a signal (256 + n) and a
time limit (-29); ended jobs stay in the history. A node that is cut off is down, and what runs there runs on.

One lock guards everything. Every job has a thread that waits for its script.
"""

import os
import signal
import subprocess
import threading
import time
from contextlib import suppress
from dataclasses import dataclass, field
from pathlib import Path

from tests.servers.openpbs.requests import Asked, PbsError, Wanted

KILL_DELAY_S = 1.0
OVER_WALLTIME = -29
FIRST_SIGNAL = 256
LOOK_S = 0.05


@dataclass
class Vnode:
    """`total`: amounts. `words`: resources that are words. `exclusive`: the job that has all of it. `spoiled`: the
    exit status of the next job, which it cannot start."""

    name: str
    total: dict[str, int]
    words: dict[str, str]
    queue: str | None = None
    down: bool = False
    offline: bool = False
    comment: str = ""
    spoiled: int | None = None
    used: dict[str, int] = field(default_factory=dict)
    exclusive: "Job | None" = None
    jobs: "list[Job]" = field(default_factory=list)

    def lacks(self, asked: Asked) -> str:
        """The first resource that it never has enough of, or that is not equal."""
        for name, amount in asked.amounts.items():
            if amount > self.total.get(name, 0):
                return name
        values = self.words | {"vnode": self.name, "host": self.name}
        return next((name for name, value in asked.equal.items() if values.get(name) != value), "")

    def is_short_of(self, asked: Asked) -> str:
        return next(
            (name for name, amount in asked.amounts.items() if amount > self.total[name] - self.used.get(name, 0)), ""
        )


@dataclass
class Job:
    """`index`: of an element of an array. `placed`: the vnode of each chunk. `sessions`: of its script and of what
    pbsdsh started."""

    number: int
    index: int | None
    name: str
    wanted: Wanted
    script: str
    queue: str
    variables: dict[str, str]
    output: str
    attributes: dict[str, str]
    state: str = "Q"
    comment: str = ""
    placed: list[Vnode] = field(default_factory=list)
    sessions: list[int] = field(default_factory=list)
    exit_status: int | None = None
    runs: int = 0
    deleted: bool = False
    over_walltime: bool = False
    began_s: float = 0.0
    process: subprocess.Popen[bytes] | None = None
    after: int | None = None

    def id(self, server: str) -> str:
        return f"{self.number}{'' if self.index is None else f'[{self.index}]'}.{server}"

    @property
    def is_over(self) -> bool:
        return self.state in ("F", "X")


class Complex:
    def __init__(self, folder: Path, server: str = "head", *, history: bool = True) -> None:
        self.folder, self.server, self.history = folder, server, history
        self.lock = threading.RLock()
        self.vnodes: dict[str, Vnode] = {}
        self.queues: dict[str, dict[str, str]] = {}
        self.jobs: list[Job] = []
        self.last = 0

    @property
    def resources(self) -> set[str]:
        own = {name for vnode in self.vnodes.values() for name in (*vnode.total, *vnode.words)}
        return own | {"ncpus", "mem", "ngpus", "vnode", "host", "mpiprocs"}

    def submit(self, jobs: list[Job]) -> None:
        with self.lock:
            self.jobs += jobs
            self.schedule()

    # --- scheduling ----------------------------------------------------------------------------------------------

    def schedule(self) -> None:
        with self.lock:
            for job in self.jobs:
                if job.state == "H" and job.after is not None:
                    self._release(job)
                if job.state == "Q":
                    self._try(job)

    def _release(self, job: Job) -> None:
        """`afterok`: it runs when the other has ended well, and goes when that has not."""
        other = next((one for one in self.jobs if one.number == job.after), None)
        if other is None or (other.is_over and other.exit_status):
            job.state, job.comment = "F", f"Job deleted as result of dependency on job {job.after}.{self.server}"
        elif other.is_over:
            job.state, job.after = "Q", None

    def _try(self, job: Job) -> None:
        placed: list[Vnode] = []
        for asked in job.wanted.chunks:
            usable = [vnode for vnode in self.vnodes.values() if not vnode.lacks(asked)]
            if not usable:
                short = self._lacking(asked)
                amounts = f"(R: {asked.amounts.get(short, 0)} A: {self._most(short)} T: {self._most(short)})"
                job.comment = f"Can Never Run: Insufficient amount of resource: {short} {amounts}"
                return self._undo(placed, job)
            found = next((vnode for vnode in usable if self._may(job, vnode, asked, placed)), None)
            if found is None:
                shorts = [short for vnode in usable if (short := vnode.is_short_of(asked))]
                why = f"Insufficient amount of resource: {shorts[0]}" if shorts else "Not enough free nodes available"
                job.comment = f"Not Running: {why}"
                return self._undo(placed, job)
            placed.append(found)
            for name, amount in asked.amounts.items():
                found.used[name] = found.used.get(name, 0) + amount
        job.placed = placed
        spoiled = next((vnode for vnode in placed if vnode.spoiled is not None), None)
        if spoiled is not None:
            job.state, job.exit_status, spoiled.spoiled = "F", spoiled.spoiled, None
            return self._undo(placed, job)
        for vnode in placed:
            vnode.exclusive = job if job.wanted.placing.exclusive else vnode.exclusive
            vnode.jobs.append(job)
        self._start(job)
        return None

    def _may(self, job: Job, vnode: Vnode, asked: Asked, placed: list[Vnode]) -> bool:
        placing = job.wanted.placing
        if vnode.down or vnode.offline or vnode.exclusive is not None or (placing.exclusive and vnode.jobs):
            return False
        if vnode.queue is not None and vnode.queue != job.queue:
            return False
        if placing.arrangement in ("scatter", "vscatter") and vnode in placed:
            return False
        if placing.arrangement == "pack" and placed and vnode is not placed[0]:
            return False
        group = placing.group
        if group is not None and placed and placed[0].words.get(group) != vnode.words.get(group):
            return False
        return not vnode.is_short_of(asked)

    def _lacking(self, asked: Asked) -> str:
        return next((name for name in asked.amounts if asked.amounts[name] > self._most(name)), "ncpus")

    def _most(self, name: str) -> int:
        return max((vnode.total.get(name, 0) for vnode in self.vnodes.values()), default=0)

    def _undo(self, placed: list[Vnode], job: Job) -> None:
        for vnode, asked in zip(placed, job.wanted.chunks, strict=False):
            for name, amount in asked.amounts.items():
                vnode.used[name] -= amount

    # --- running -------------------------------------------------------------------------------------------------

    def _start(self, job: Job) -> None:
        script = self.folder / "spool" / f"{job.number}.{job.index}.SC"
        script.write_text(job.script)
        hosts = self.folder / "spool" / f"{job.number}.{job.index}.nodes"
        hosts.write_text("".join(f"{vnode.name}\n" for vnode in job.placed))
        job.state, job.runs, job.began_s = "R", job.runs + 1, time.monotonic()
        job.comment = f"Job run at {time.ctime()} on {self.exec_vnode(job)}"
        environment = {**_login(), **job.variables, "PBS_JOBID": job.id(self.server), "PBS_NODEFILE": str(hosts)}
        environment |= {"PBS_ENVIRONMENT": "PBS_BATCH", "PBS_JOBNAME": job.name, "PBS_QUEUE": job.queue}
        if job.index is not None:
            environment["PBS_ARRAY_INDEX"] = str(job.index)
        spool = self.folder / "spool" / f"{job.number}.{job.index}.OU"
        with spool.open("wb") as output:
            job.process = subprocess.Popen(
                [job.attributes.get("shell", "/bin/sh"), str(script)],
                env=environment,
                cwd="/",
                stdin=subprocess.DEVNULL,
                stdout=output,
                stderr=output,
                start_new_session=True,
            )
        job.sessions.append(job.process.pid)
        threading.Thread(target=self._watch, args=(job, spool), daemon=True).start()

    def _watch(self, job: Job, spool: Path) -> None:
        assert job.process is not None
        limit_s = job.wanted.walltime_s
        while job.process.poll() is None:
            if limit_s is not None and time.monotonic() > job.began_s + limit_s and not job.over_walltime:
                job.over_walltime = True
                threading.Thread(target=self._kill, args=(job,), daemon=True).start()
            time.sleep(LOOK_S)
        while any(vnode.down for vnode in job.placed):  # its daemon tells the server when it is back
            time.sleep(LOOK_S)
        code = job.process.returncode
        with self.lock:
            self._signal(job, signal.SIGKILL)
            status = FIRST_SIGNAL - code if code < 0 else code
            job.exit_status = OVER_WALLTIME if job.over_walltime else status
            job.state = "X" if job.index is not None else "F"
            self._undo(job.placed, job)
            for vnode in job.placed:
                vnode.jobs.remove(job)
                vnode.exclusive = None if vnode.exclusive is job else vnode.exclusive
            if job.output != "/dev/null":
                Path(job.output).write_bytes(spool.read_bytes())
            self.schedule()

    def spawn(self, job: Job, chunk: int, command: list[str], environment: dict[str, str]) -> int:
        """What pbsdsh asks for: a process of the job on the vnode of a chunk. Its exit status."""
        with self.lock:
            if chunk >= len(job.placed) or job.is_over:
                raise PbsError("tm_spawn: invalid node")
            task = {"PBS_NODENUM": str(chunk), "PBS_TASKNUM": str(len(job.sessions) + 1)}
            with (self.folder / "spool" / f"{job.number}.{job.index}.OU").open("ab") as output:
                process = subprocess.Popen(
                    command,
                    env=environment | task,
                    cwd="/",
                    stdin=subprocess.DEVNULL,
                    stdout=output,
                    stderr=output,
                    start_new_session=True,
                )
            job.sessions.append(process.pid)
        return process.wait()

    # --- ending --------------------------------------------------------------------------------------------------

    def delete(self, job: Job) -> None:
        with self.lock:
            if job.is_over:
                raise PbsError(f"Job has finished {job.id(self.server)}", 35)
            if job.state in ("Q", "H"):
                job.state, job.exit_status = "X" if job.index is not None else "F", None
                job.comment = f"{job.comment} and terminated" if job.comment else ""
                return
            job.deleted = True
        threading.Thread(target=self._kill, args=(job,), daemon=True).start()

    def _kill(self, job: Job) -> None:
        while any(vnode.down for vnode in job.placed):
            time.sleep(LOOK_S)
        self._signal(job, signal.SIGTERM)
        deadline = time.monotonic() + KILL_DELAY_S
        while time.monotonic() < deadline and not job.is_over:
            time.sleep(LOOK_S)
        self._signal(job, signal.SIGKILL)

    def _signal(self, job: Job, number: signal.Signals) -> None:
        """Every process of its sessions, as a node's daemon does."""
        for entry in os.listdir("/proc"):  # noqa: PTH208 - thousands of times
            if entry.isdigit():
                with suppress(OSError, ValueError, IndexError):
                    stat = (Path("/proc") / entry / "stat").read_text()
                    if int(stat.rpartition(")")[2].split()[3]) in job.sessions:
                        os.kill(int(entry), number)

    def exec_vnode(self, job: Job) -> str:
        parts = []
        for vnode, asked in zip(job.placed, job.wanted.chunks, strict=False):
            amounts = (f"{n}={f'{a // 1024}kb' if n == 'mem' else a}" for n, a in asked.amounts.items())
            parts.append(f"({':'.join([vnode.name, *amounts])})")
        return "+".join(parts)


def _login() -> dict[str, str]:
    return {
        "PATH": "/usr/local/bin:/usr/bin:/bin",
        "HOME": "/",
        "USER": "root",
        "SHELL": "/bin/bash",
        "LANG": "C.UTF-8",
    }
