"""Settings of the Kubernetes backend, validated once at start."""

from typing import Annotated, Literal

from pydantic import Field

from dovetail.backends.host_folders import AllowedFolders
from dovetail.backends.pricing import Priced
from dovetail.model.text.quantity import Count, Duration
from dovetail.model.text.strict import Name

Text = Annotated[str, Field(min_length=1, max_length=3000)]
#: A name as the Kubernetes API has them: lower-case letters, digits, '-' and '.'.
ApiName = Annotated[str, Field(pattern=r"^[a-z0-9]([-a-z0-9.]{0,251}[a-z0-9])?$")]
Owner = Annotated[str, Field(pattern=r"^[a-z0-9]([-a-z0-9]{0,18}[a-z0-9])?$")]


class KubernetesSettings(Priced):
    kubeconfig: Text | None = None
    """A file; left out: KUBECONFIG, else the service account of the pod this runs in, else ~/.kube/config."""
    context: Text | None = None
    """Of the kubeconfig; its current one when left out."""
    namespace: ApiName | None = None
    """Where pods are made; that of the context, or of the pod this runs in, when left out."""
    owner: Owner | None = None
    """Marks our pods. Drawn at the first start and kept in the backend's folder when left out; give one that no other
    Dovetail uses in this namespace if that folder does not last."""
    nodes: Annotated[str, Field(max_length=1000)] = ""
    """A label selector as kubectl takes it, such as `pool=batch,!gpu`: only these nodes are offered. Empty: all."""
    scheduler: ApiName | None = None
    """Let this scheduler of the cluster bind the pods, each to the one node that was chosen for it, so that its own
    rules hold too (volumes, quotas of plugins). Left out: pods are made on their node, and a claim that waits for a
    scheduler to be bound (`WaitForFirstConsumer`) is refused."""
    allow_paths: AllowedFolders = []
    """Folders of the nodes that workloads may see as volumes, with what is below; without any, only claims, by name."""
    default_image: Text | None = None
    """For work that names none; left out, such work is refused."""
    pull: Literal["Always", "IfNotPresent", "Never"] | None = None
    pull_secrets: Annotated[list[ApiName], Field(max_length=20)] = []
    service_account: ApiName | None = None
    """Of the pods. Without one they get no token for the API."""
    priority_class: ApiName | None = None
    runtime_class: ApiName | None = None
    gpu_resource: Annotated[str, Field(pattern=r"^[a-z0-9.-]+/[A-Za-z0-9._-]+$")] = "nvidia.com/gpu"
    grace_s: Annotated[Duration, Field(ge=1)] = 30.0
    """From SIGTERM to SIGKILL, for workloads that say nothing of it themselves (`disruption.grace`)."""
    start_patience_s: Annotated[Duration, Field(ge=1)] = 300.0
    """A pod whose image cannot be had, or whose container cannot be made, for so long has failed."""
    observe_interval_s: Annotated[Duration, Field(ge=1)] = 15.0
    keep_pods: Count = 2_000
    """At most so many pods that ended are kept, with their logs …"""
    keep_for_s: Duration = 86400.0
    """… and none for longer than this."""
    connections: Annotated[Count, Field(ge=1, le=1000)] = 32
    """To the API server at a time."""
    timeout_s: Annotated[Duration, Field(ge=1)] = 30.0
    name_prefix: Name = "dovetail"
    """Of the pods' names."""
