"""Settings of the Slurm backend, validated once at start."""

from typing import Annotated, Literal, Self

from pydantic import Field, SecretStr, model_validator

from dovetail.backends.pricing import Priced
from dovetail.model.text.quantity import Bytes, Count, Duration
from dovetail.model.text.strict import AtField
from dovetail.model.workloads.selection import Labels

Text = Annotated[str, Field(min_length=1, max_length=3000)]
Word = Annotated[str, Field(pattern=r"^[A-Za-z0-9_][A-Za-z0-9_.@+-]*$", max_length=200)]


class SlurmSettings(Priced):
    url: Annotated[str, Field(pattern=r"^(unix:/.+|https?://.+)$", max_length=3000)] | None = None
    """slurmrestd: `unix:/run/slurmrestd.sock` or `https://head:6820`. Left out: Slurm's own commands are used."""
    api_version: Annotated[str, Field(pattern=r"^v0\.0\.\d\d$")] = "v0.0.38"
    user: Word | None = None
    """Whose token it is; jobs run as this user."""
    token: SecretStr | None = None
    """For slurmrestd over TCP: one that does not expire soon …"""
    token_file: Text | None = None
    """… or a file that holds one as `scontrol token` prints it, and is read again when it changes."""
    conf: Text | None = None
    """slurm.conf, for Slurm's commands; where they look for it by themselves when left out."""
    folder: Text | None = None
    """Where run folders go: seen by the nodes under the same path. The backend's own folder when left out."""
    place: Literal["node", "slurm"] = "node"
    """node: every node of Slurm's is a node, and a job goes to the one that was chosen. slurm: every partition is one
    node, and Slurm chooses within it."""
    partitions: Annotated[list[Word], Field(max_length=1000)] = []
    """Only these, the first first; all when empty."""
    node_prefix: Annotated[str, Field(pattern=r"^([A-Za-z][A-Za-z0-9.-]*)?$", max_length=50)] = ""
    """Before every node's name, where two clusters have nodes of the same name."""
    labels: Labels = {}
    """For every node, beside what Slurm says of it."""
    account: Word | None = None
    qos: Word | None = None
    reservation: Word | None = None
    """Jobs go into this reservation of Slurm's; nodes in others are left alone while those last."""
    env: dict[Annotated[str, Field(pattern=r"^[A-Za-z_][A-Za-z0-9_]*$")], str] = {
        "PATH": "/usr/local/bin:/usr/bin:/bin"
    }
    """What jobs begin with, before the workload's own."""
    least_memory: Annotated[Bytes, Field(ge=2**20)] = 100 * 2**20
    """For tasks that ask for none: Slurm would give them the whole node's."""
    array_within_s: Annotated[Duration, Field(le=10)] = 0.1
    """Replicas of one workload that are bound within this time, and to the same place, go to Slurm as one array; 0:
    each is a job of its own."""
    jobs_interval_s: Annotated[Duration, Field(ge=0.05)] = 2.0
    """How often jobs are looked at …"""
    nodes_interval_s: Annotated[Duration, Field(ge=0.05)] = 10.0
    """… and nodes."""
    start_within_s: Annotated[Duration, Field(gt=0)] | None = 600.0
    """A job that Slurm lets wait for longer on the node that was chosen goes back, to be placed elsewhere. Not with
    `place: slurm`: there waiting is Slurm's affair."""
    notice_s: Annotated[Duration, Field(ge=0.1)] = 10.0
    """How often a running job looks whether it is to stop, for when Slurm cannot tell it: its node's daemon is gone."""
    grace_s: Duration = 10.0
    """From SIGTERM to SIGKILL for what a job's script ends itself; otherwise Slurm's KillWait counts."""
    keep_runs: Count = 10_000
    """At most so many ended run folders are kept …"""
    keep_for_s: Duration = 7 * 86400.0
    """… and none for longer than this."""

    @model_validator(mode="after")
    def _tokens_belong_to_somebody(self) -> Self:
        if self.token is not None and self.token_file is not None:
            raise AtField(("token_file",), "stands beside token; give one of them")
        given = "token" if self.token is not None else "token_file" if self.token_file is not None else None
        if (self.user is None) != (given is None):
            missing = "user" if self.user is None else "token_file"
            raise AtField((missing,), "is missing: a token and the user that it belongs to go together")
        if given is not None and (self.url is None or self.url.startswith("unix:")):
            raise AtField((given,), "is for slurmrestd over TCP; give its url, or leave the token out")
        return self
