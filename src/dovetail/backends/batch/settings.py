"""Settings that backends of batch systems share, validated once at start."""

from typing import Annotated

from pydantic import Field

from dovetail.backends.pricing import Priced
from dovetail.backends.settings_file_only import ServerFile
from dovetail.model.text.quantity import Bytes, Count, Duration
from dovetail.model.workloads.selection import Labels

Word = Annotated[str, Field(pattern=r"^[A-Za-z0-9_][A-Za-z0-9_.@+-]*$", max_length=200)]


class BatchSettings(Priced):
    folder: ServerFile | None = None
    """The folder for run folders, which nodes must see under the same path; by default the backend's own folder."""
    node_prefix: Annotated[str, Field(pattern=r"^([A-Za-z][A-Za-z0-9.-]*)?$", max_length=50)] = ""
    """A prefix for node names, if two clusters have nodes of the same name."""
    labels: Labels = {}
    """Added to every node."""
    env: dict[Annotated[str, Field(pattern=r"^[A-Za-z_][A-Za-z0-9_]*$")], str] = {
        "PATH": "/usr/local/bin:/usr/bin:/bin"
    }
    """The variables of every job; those of the workload override them."""
    least_memory: Annotated[Bytes, Field(ge=2**20)] = 100 * 2**20
    """For tasks without a memory request: they would get all memory of the node, or none."""
    array_within_s: Annotated[Duration, Field(le=10)] = 0.1
    """Replicas of one workload that are bound to the same place within this time become one array; 0: no arrays."""
    jobs_interval_s: Annotated[Duration, Field(ge=0.05)] = 2.0
    """How often jobs are polled."""
    nodes_interval_s: Annotated[Duration, Field(ge=0.05)] = 10.0
    """How often nodes are polled."""
    start_within_s: Annotated[Duration, Field(gt=0)] | None = 600.0
    """A job that is pending longer on the chosen node is cancelled and placed elsewhere."""
    notice_s: Annotated[Duration, Field(ge=0.1)] = 10.0
    """How often a running job checks whether to stop, in case it cannot be signalled."""
    grace_s: Duration = 10.0
    """From SIGTERM to SIGKILL if the job's script ends the command."""
    keep_runs: Count = 10_000
    """The most ended run folders to keep."""
    keep_for_s: Duration = 7 * 86400.0
    """How long ended run folders are kept."""

    @property
    def patience_s(self) -> float | None:
        """How long a job may be pending on its node; None: no limit."""
        return self.start_within_s
