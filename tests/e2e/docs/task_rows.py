"""What a server says of all its tasks, to be compared with the records of the engine that runs them."""

from dovetail.client import Client
from dovetail.responses.workloads import TaskRow


def tasks_by_key(client: Client) -> dict[str, TaskRow]:
    """The tasks of all workloads in their last attempt, by key."""
    works = client.workloads()["items"]
    return {
        f"{work['id']}.{task['replica']}.{task['attempt']}": task for work in works for task in client.tasks(work["id"])
    }


def running_nodes(client: Client) -> dict[str, object]:
    """The nodes of running tasks, by key."""
    return {key: task["node"] for key, task in tasks_by_key(client).items() if task["state"] == "running"}
