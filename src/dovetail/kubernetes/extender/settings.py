"""Settings of the extender."""

from typing import Annotated

from pydantic import Field

from dovetail.kubernetes.objects.pods import PROFILE
from dovetail.kubernetes.scheduler.settings import KubernetesSchedulerSettings
from dovetail.model.text.strict import Name

STOCK = "default-scheduler"


class KubernetesExtenderSettings(KubernetesSchedulerSettings):
    names: Annotated[dict[str, Name], Field(min_length=1, max_length=50)] = {STOCK: PROFILE}
    """The profile that answers the kube-scheduler of each `schedulerName`."""
    keep_plan_s: Annotated[float, Field(gt=0, le=3600)] = 60.0
    """How long capacity is held for pods of a planned gang that kube-scheduler does not ask about again, in seconds."""
    bind_within_s: Annotated[float, Field(gt=0, le=60)] = 4.0
    """Timeout of a binding, in seconds; less than the `httpTimeout` that kube-scheduler was given for us."""
    watch_patience_s: Annotated[float, Field(ge=0, le=10)] = 3.0
    """How long a question about a gang waits for the watch to report a pod that kube-scheduler knows already, in
    seconds; less than the `httpTimeout` that kube-scheduler was given for us."""
    max_body_bytes: Annotated[int, Field(ge=1024)] = 256 * 2**20
    """The largest body of a request, in bytes."""
