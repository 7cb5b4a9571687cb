"""Settings of the extender."""

from typing import Annotated

from pydantic import Field

from dovetail.kubernetes.objects.pods import PROFILE
from dovetail.kubernetes.scheduler.settings import KubernetesSchedulerSettings
from dovetail.model.text.strict import Name

STOCK = "default-scheduler"


class KubernetesExtenderSettings(KubernetesSchedulerSettings):
    """`names`: the `schedulerName`s of the kube-schedulers that ask, and the profile that answers each."""

    names: Annotated[dict[str, Name], Field(min_length=1, max_length=50)] = {STOCK: PROFILE}
    #: How long capacity is held for pods of a planned gang that kube-scheduler does not ask about again.
    keep_plan_s: Annotated[float, Field(gt=0, le=3600)] = 60.0
    #: Timeout of a binding; less than the `httpTimeout` that kube-scheduler was given for us.
    bind_within_s: Annotated[float, Field(gt=0, le=60)] = 4.0
    #: How long a question about a gang waits for the watch to report a pod that kube-scheduler knows already; less than
    #: the `httpTimeout` that kube-scheduler was given for us.
    watch_patience_s: Annotated[float, Field(ge=0, le=10)] = 3.0
    max_body_bytes: Annotated[int, Field(ge=1024)] = 256 * 2**20
