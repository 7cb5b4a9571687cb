"""Services and workloads of files, told apart by their kind."""

import re
from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, NamedTuple

from dovetail.cli.terminal.files import read_each

if TYPE_CHECKING:
    from dovetail.model.services.service import Service
    from dovetail.model.workloads.workload import Workload

_KIND = re.compile(rb"""["']?kind["']?\s*:\s*["']?service\b""")


class Definitions(NamedTuple):
    services: "list[Service]"
    workloads: "list[Workload]"


def may_hold_services(texts: Mapping[str, bytes]) -> bool:
    """A quick look, without parsing."""
    return any(_KIND.search(text) for text in texts.values())


def read_definitions(sources: Sequence[str]) -> Definitions:
    """Those of all files. Raises Invalid with everything that is wrong, each with its file and line."""
    from dovetail.model.text.complaint import Complaint, Invalid

    complaints: list[Complaint] = []
    texts = {
        source: text for source, several in read_each(sources, lambda text, _: [text], complaints) for text in several
    }
    if complaints:
        raise Invalid(complaints)
    return definitions_in(texts)


def definitions_in(texts: Mapping[str, bytes]) -> Definitions:
    from dovetail.model.services.reading import is_service, services_of
    from dovetail.model.text.complaint import Complaint, Invalid
    from dovetail.model.text.document import read_documents
    from dovetail.model.workloads.reading import workloads_of

    found = Definitions([], [])
    complaints: list[Complaint] = []
    for source, text in texts.items():
        try:
            items = [item for document in read_documents(text, source) for item in document.items()]
            services = [item for item in items if is_service(item)]
            others = [item for item in items if not is_service(item)]
            if services or not items:
                found.services.extend(services_of(services, source))
            if others:
                found.workloads.extend(workloads_of(others, source))
        except Invalid as invalid:
            complaints += invalid.complaints
    if complaints:
        raise Invalid(complaints)
    return found
