"""Every page of the dashboard. A part of the server that has something to show adds its pages here.

A page is one module in `static/pages`. Its address is its path; what follows the path names the thing shown, and the
query holds everything else that the page remembers.
"""

from dataclasses import dataclass
from enum import StrEnum


class PageGroup(StrEnum):
    """In the order of the menu."""

    TOP = ""
    WORK = "Work"
    MACHINES = "Machines"
    PLANNING = "Planning"
    RULES = "Rules"


@dataclass(frozen=True, slots=True)
class WebPage:
    """`module`: a file in `static/pages`."""

    path: str
    title: str
    group: PageGroup
    module: str
    in_menu: bool = True


PAGES: tuple[WebPage, ...] = (
    WebPage("/", "Overview", PageGroup.TOP, "overview.js"),
    WebPage("/login", "Log in", PageGroup.TOP, "login.js", in_menu=False),
    WebPage("/workloads", "Workloads", PageGroup.WORK, "workloads.js"),
    WebPage("/workload", "Workload", PageGroup.WORK, "workload.js", in_menu=False),
    WebPage("/queues", "Queues", PageGroup.WORK, "queues.js"),
    WebPage("/services", "Services", PageGroup.WORK, "services.js"),
    WebPage("/vms", "VMs", PageGroup.WORK, "vms.js"),
    WebPage("/submit", "Submit", PageGroup.WORK, "submit.js"),
    WebPage("/events", "Events", PageGroup.WORK, "events.js"),
    WebPage("/topology", "Topology", PageGroup.MACHINES, "topology.js"),
    WebPage("/nodes", "Nodes", PageGroup.MACHINES, "nodes.js"),
    WebPage("/node", "Node", PageGroup.MACHINES, "node.js", in_menu=False),
    WebPage("/backends", "Backends", PageGroup.MACHINES, "backends.js"),
    WebPage("/network", "Network", PageGroup.MACHINES, "network.js"),
    WebPage("/what-if", "What-if", PageGroup.PLANNING, "what-if.js"),
    WebPage("/why-not", "Why not?", PageGroup.PLANNING, "why-not.js"),
    WebPage("/reservations", "Reservations", PageGroup.PLANNING, "reservations.js"),
    WebPage("/cost", "Cost", PageGroup.PLANNING, "cost.js"),
    WebPage("/policies", "Policies", PageGroup.RULES, "policies.js"),
    WebPage("/profiles", "Profiles", PageGroup.RULES, "profiles.js"),
    WebPage("/access", "Access", PageGroup.RULES, "access.js"),
)


def page_at(path: str) -> WebPage | None:
    """The page that shows this address."""
    exact = {page.path: page for page in PAGES}
    if path in exact:
        return exact[path]
    beginning = "/" + path.split("/")[1]
    return exact.get(beginning) if beginning != "/" else None
