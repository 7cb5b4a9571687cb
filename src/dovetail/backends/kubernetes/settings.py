"""Settings of the Kubernetes backend, validated once at start."""

from typing import Annotated, Literal

from pydantic import Field

from dovetail.backends.host_folders import AllowedFolders
from dovetail.backends.pricing import Priced
from dovetail.backends.settings_file_only import ServerFile
from dovetail.model.text.quantity import Count, Duration
from dovetail.model.text.strict import Name

Text = Annotated[str, Field(min_length=1, max_length=3000)]
#: A name as the Kubernetes API has them: lower-case letters, digits, '-' and '.'.
ApiName = Annotated[str, Field(pattern=r"^[a-z0-9]([-a-z0-9.]{0,251}[a-z0-9])?$")]
Owner = Annotated[str, Field(pattern=r"^[a-z0-9]([-a-z0-9]{0,18}[a-z0-9])?$")]


class KubernetesSettings(Priced):
    kubeconfig: ServerFile | None = None
    """A file; by default KUBECONFIG, else the service account of this pod, else ~/.kube/config."""
    context: Text | None = None
    """The context of the kubeconfig; by default the current one."""
    namespace: ApiName | None = None
    """The namespace of the pods; by default that of the context or of this pod."""
    owner: Owner | None = None
    """Marks our pods; by default a random one that is kept in the backend's folder. If that folder is not persistent,
    give one that no other Dovetail uses in this namespace."""
    nodes: Annotated[str, Field(max_length=1000)] = ""
    """A label selector as for kubectl, such as `pool=batch,!gpu`: only these nodes are used. Empty: all."""
    scheduler: ApiName | None = None
    """Let this scheduler of the cluster bind each pod to its chosen node, so that its own rules apply too (volumes,
    quotas of plugins). Left out: the backend sets the node, and refuses unbound `WaitForFirstConsumer` claims."""
    allow_paths: AllowedFolders = []
    """Folders of the nodes that workloads may mount, with all below them; by default only claims."""
    default_image: Text | None = None
    """The image of workloads without one; left out: such workloads are refused."""
    pull: Literal["Always", "IfNotPresent", "Never"] | None = None
    """The image pull policy of the pods; by default the cluster's."""
    pull_secrets: Annotated[list[ApiName], Field(max_length=20)] = []
    """The image pull secrets of the pods."""
    service_account: ApiName | None = None
    """The service account of the pods. Without one they get no token for the API."""
    priority_class: ApiName | None = None
    """The priority class of the pods."""
    runtime_class: ApiName | None = None
    """The runtime class of the pods."""
    gpu_resource: Annotated[str, Field(pattern=r"^[a-z0-9.-]+/[A-Za-z0-9._-]+$")] = "nvidia.com/gpu"
    """What GPUs are called in the cluster."""
    grace_s: Annotated[Duration, Field(ge=1)] = 30.0
    """From SIGTERM to SIGKILL, for workloads without `disruption.grace`."""
    start_patience_s: Annotated[Duration, Field(ge=1)] = 300.0
    """A pod has failed if its image cannot be pulled, or its container not be created, for so long."""
    observe_interval_s: Annotated[Duration, Field(ge=1)] = 15.0
    """How often measured use is read, if the cluster has `metrics.k8s.io`."""
    keep_pods: Count = 2_000
    """The most ended pods to keep, with their logs."""
    keep_for_s: Duration = 86400.0
    """How long ended pods are kept."""
    connections: Annotated[Count, Field(ge=1, le=1000)] = 32
    """The most connections to the API server at the same time."""
    timeout_s: Annotated[Duration, Field(ge=1)] = 30.0
    """How long the API server may take to answer."""
    name_prefix: Name = "dovetail"
    """The names of the pods begin with it."""
