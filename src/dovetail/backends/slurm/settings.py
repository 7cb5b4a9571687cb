"""Settings of the Slurm backend, validated once at start."""

from typing import Annotated, Literal, Self

from pydantic import Field, SecretStr, model_validator

from dovetail.backends.batch.settings import BatchSettings, Word
from dovetail.backends.settings_file_only import ServerFile
from dovetail.model.text.quantity import Bytes, Duration
from dovetail.model.text.strict import AtField

Text = Annotated[str, Field(min_length=1, max_length=3000)]


class SlurmSettings(BatchSettings):
    url: Annotated[str, Field(pattern=r"^(unix:/.+|https?://.+)$", max_length=3000)] | None = None
    """slurmrestd: `unix:/run/slurmrestd.sock` or `https://head:6820`. Left out: Slurm's commands are used."""
    api_version: Annotated[str, Field(pattern=r"^v0\.0\.\d\d$")] = "v0.0.38"
    """The version of slurmrestd's API."""
    user: Word | None = None
    """The user of the token; jobs run as this user."""
    token: SecretStr | None = None
    """For slurmrestd over TCP: a token that does not expire soon."""
    token_file: ServerFile | None = None
    """A file with the output of `scontrol token`, instead of `token`. It is read again when it changes."""
    conf: ServerFile | None = None
    """slurm.conf for Slurm's commands; by default where they look for it."""
    place: Literal["node", "slurm"] = "node"
    """`node`: every Slurm node is a node. `slurm`: every partition is a node, and Slurm chooses the node in it."""
    partitions: Annotated[list[Word], Field(max_length=1000)] = []
    """Only these, in order of preference; all if empty."""
    account: Word | None = None
    """The account of jobs, unless the workload has the label `slurm/account`."""
    qos: Word | None = None
    """The QOS of jobs, unless the workload has the label `slurm/qos`."""
    reservation: Word | None = None
    """Jobs run in this Slurm reservation. Nodes in other active reservations are not used."""
    least_memory: Annotated[Bytes, Field(ge=2**20)] = 100 * 2**20
    """For tasks without a memory request: Slurm would give them all memory of the node."""
    start_within_s: Annotated[Duration, Field(gt=0)] | None = 600.0
    """A job that is pending longer on the chosen node is cancelled and placed elsewhere. Not with `place: slurm`."""
    notice_s: Annotated[Duration, Field(ge=0.1)] = 10.0
    """How often a running job checks whether to stop, in case Slurm cannot signal it because slurmd is gone."""
    grace_s: Duration = 10.0
    """From SIGTERM to SIGKILL if the job's script ends the command; if Slurm ends it, KillWait counts."""

    @property
    def patience_s(self) -> float | None:
        return self.start_within_s if self.place == "node" else None

    @model_validator(mode="after")
    def _check_token(self) -> Self:
        if self.token is not None and self.token_file is not None:
            raise AtField(("token_file",), "stands beside token; give one of them")
        given = "token" if self.token is not None else "token_file" if self.token_file is not None else None
        if (self.user is None) != (given is None):
            missing = "user" if self.user is None else "token_file"
            raise AtField((missing,), "is missing: a token and the user that it belongs to go together")
        if given is not None and (self.url is None or self.url.startswith("unix:")):
            raise AtField((given,), "is for slurmrestd over TCP; give its url, or leave the token out")
        return self
