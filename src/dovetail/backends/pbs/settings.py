"""Settings of the PBS backend, validated once at start."""

from typing import Annotated, Literal
from urllib.parse import urlsplit

from pydantic import AfterValidator, Field

from dovetail.backends.batch.settings import BatchSettings, Word
from dovetail.backends.settings_file_only import ServerFile
from dovetail.backends.ssh_command import SshSettings
from dovetail.model.text.quantity import Duration
from dovetail.model.text.strict import shown


def _check_url(url: str) -> str:
    try:
        parts = urlsplit(url)
        host, _ = parts.hostname, parts.port
    except ValueError as error:
        raise ValueError(f"{shown(url)} is not an address: {error}") from None
    if parts.scheme != "ssh" or not host or any(sign.isspace() for sign in url):
        raise ValueError(f"{shown(url)} is not accepted; write ssh://user@host, with :port if it is not 22")
    return url


def _check_place(text: str) -> str:
    from dovetail.backends.pbs.select import read_place

    return str(read_place(text))


class PbsSettings(BatchSettings):
    dialect: Literal["auto", "openpbs", "torque"] = "auto"
    """How the commands speak: `openpbs` (also PBS Professional) or `torque` (also Slurm's commands of these names).
    `auto`: they are asked."""
    commands: ServerFile | None = None
    """The folder of the commands, such as `/opt/pbs/bin`; by default the PATH."""
    conf: ServerFile | None = None
    """pbs.conf for the commands, or slurm.conf for Slurm's; by default where they look for it."""
    server: Word | None = None
    """The PBS server; by default that of pbs.conf."""
    url: Annotated[str, Field(max_length=3000), AfterValidator(_check_url)] | None = None
    """The host where the commands run, `ssh://user@head`; by default this one."""
    ssh: SshSettings = SshSettings()
    """How ssh is called, for `url`."""
    queues: Annotated[list[Word], Field(max_length=1000)] = []
    """Only these, in order of preference. By default the server's default queue, and those that nodes are dedicated
    to."""
    account: Word | None = None
    """The account of jobs (`qsub -A`), unless the workload has the label `pbs/account`."""
    project: Word | None = None
    """The project of jobs (`qsub -P`), unless the workload has the label `pbs/project`. Not with Torque."""
    place: Annotated[str, Field(max_length=200), AfterValidator(_check_place)] = "free"
    """How jobs share their vnodes, as `-l place` has it (`excl`, `scatter:shared`, `pack:group=rack` …), unless the
    workload has the label `pbs/place`. Not with Torque."""
    gang_jobs: bool = True
    """OpenPBS: a gang is one job with a chunk for each task, which PBS starts as a whole. False: a job for each task;
    they wait for each other."""
    launcher: ServerFile = "pbsdsh"
    """The program that starts the tasks of such a job on their nodes, as `pbsdsh -n CHUNK PROGRAM …` does."""
    start_within_s: Annotated[Duration, Field(gt=0)] | None = 600.0
    """A job that is queued longer on the chosen node is deleted and placed elsewhere."""
    grace_s: Duration = 10.0
    """From SIGTERM to SIGKILL if the job's script ends the command; if PBS ends it, its `kill_delay` counts."""
