"""What comes in, looked at before the loop sees it: submissions against limits, nodes against what is known."""

from dovetail.control.settings import RequestLimits
from dovetail.engine.settings import Router, Unroutable
from dovetail.model.complaint import Complaint, Invalid
from dovetail.model.node import Node
from dovetail.model.workload import Workload
from dovetail.placement.profiles import UnknownProfile


def check_submission(specs: list[Workload], limits: RequestLimits, router: Router) -> None:
    """Raises Invalid with everything this server will not take, whatever its state."""
    if len(specs) > limits.max_batch:
        words = f"{len(specs)} workloads at once; the most is {limits.max_batch}: split the submission"
        raise Invalid([Complaint("request", None, "", words)])
    complaints = []
    for spec in specs:
        source = f"workload {spec.name}"
        if spec.replicas > limits.max_replicas:
            words = f"{spec.replicas} is more than this server takes for one workload, {limits.max_replicas}"
            complaints.append(Complaint(source, None, "replicas", words))
        try:
            router.route(spec)
        except UnknownProfile as error:
            complaints.append(Complaint(source, None, "profile", f"invalid_strategy: {error}", tuple(router.profiles)))
        except Unroutable as error:
            complaints.append(Complaint(source, None, "scheduler", str(error)))
    if complaints:
        raise Invalid(complaints)


def announced_again(announced: Node, stored: Node) -> Node:
    """A backend announces a node that is known, as after a restart: what it says wins, what people added stays."""
    said = {(taint.key, taint.effect) for taint in announced.taints}
    kept = [taint for taint in stored.taints if (taint.key, taint.effect) not in said]
    update = {"labels": {**stored.labels, **announced.labels}, "taints": [*announced.taints, *kept]}
    return announced.model_copy(update=update)
