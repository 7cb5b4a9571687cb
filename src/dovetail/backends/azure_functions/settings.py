"""Settings of the Azure Functions backend: which function app, its functions and keys.

backends:
  azure:
    kind: azure_functions
    url: https://images.azurewebsites.net
    region: westeurope
    key: …
    durable_key: …
    functions:
      - {name: resize, path: /api/resize, concurrency: 50}
      - {name: report, orchestrator: Report}
"""

from collections.abc import Mapping
from typing import Annotated, Self

from pydantic import AfterValidator, BeforeValidator, Field, SecretStr, model_validator

from dovetail.backends.serverless.node import FunctionPrice
from dovetail.backends.serverless.settings import CallSettings, Concurrency
from dovetail.model.text.quantity import Bytes, Cores, Duration
from dovetail.model.text.strict import AtField, NodeName, Strict
from dovetail.model.workloads.function import FunctionName
from dovetail.model.workloads.selection import Labels

#: List price of the Consumption plan in most regions on 2026-11-01: https://azure.microsoft.com/pricing/details/functions/
LIST_PRICE = FunctionPrice(per_gb_second=0.000016)
CONSUMPTION_MEMORY = 3 * 2**29  # 1.5 GiB, what an instance of the Consumption plan has


class AzureFunction(Strict):
    name: FunctionName
    """Its name in workloads; the node has it in the label `function`."""
    node: NodeName | None = None
    """The node's name; by default that of the function."""
    orchestrator: Annotated[str, Field(pattern=r"^[A-Za-z0-9_-]{1,128}$")] | None = None
    """The orchestrator function of Durable Functions that is started."""
    path: Annotated[str, Field(pattern=r"^/[\w/.~%-]*$", max_length=500)] | None = None
    """The path of an HTTP trigger, such as `/api/resize`."""
    key: SecretStr | None = None
    """The key of this HTTP trigger; by default that of the app. It is never shown."""
    concurrency: Concurrency = 100
    """The most calls at once."""
    memory: Annotated[Bytes, Field(ge=2**27)] = CONSUMPTION_MEMORY
    """The memory of one instance."""
    cpu: Annotated[Cores, Field(gt=0)] = 1.0
    """The cores of one instance."""
    labels: Labels = {}
    """More labels of the node."""

    @property
    def node_name(self) -> str:
        return self.node or self.name

    @model_validator(mode="after")
    def _check_way(self) -> Self:
        if (self.orchestrator is None) == (self.path is None):
            words = "give orchestrator, for Durable Functions, or path, for an HTTP trigger"
            raise AtField(
                ("path",), f"{'is missing' if self.path is None else 'does not go with orchestrator'}; {words}"
            )
        return self


def _as_list(functions: object) -> object:
    """A mapping by name is a list of functions with that name."""
    if not isinstance(functions, Mapping):
        return functions
    return [{"name": name, **one} if isinstance(one, Mapping) else one for name, one in functions.items()]


def _check_functions(functions: list[AzureFunction]) -> list[AzureFunction]:
    names: set[str] = set()
    for index, one in enumerate(functions):
        if one.node_name in names:
            raise AtField((index, "name"), f"{one.node_name!r} stands twice; give one of them another node")
        names.add(one.node_name)
    return functions


class AzureFunctionsSettings(CallSettings):
    url: Annotated[str, Field(pattern=r"^https?://[^\s/?#@]+$", max_length=500)]
    """The address of the function app, such as `https://images.azurewebsites.net`."""
    functions: Annotated[
        list[AzureFunction],
        Field(min_length=1, max_length=1000),
        BeforeValidator(_as_list),
        AfterValidator(_check_functions),
    ]
    """The functions that may be called, each a node: a list, or a mapping by name."""
    region: Annotated[str, Field(pattern=r"^[a-z0-9-]{3,40}$")] | None = None
    """The region of the app, such as `westeurope`."""
    key: SecretStr | None = None
    """The host key of the app, or a function key, for HTTP triggers; it is never shown."""
    durable_key: SecretStr | None = None
    """The system key `durabletask_extension` of the app, for orchestrations; it is never shown."""
    price: FunctionPrice = LIST_PRICE
    """What calls cost; by default the list price of the Consumption plan."""
    answer_within_s: Annotated[Duration, Field(ge=0.5, le=60)] = 10.0
    """How long a short request may take."""
    longest_call_s: Annotated[Duration, Field(gt=0, le=3600)] = 230.0
    """How long an HTTP trigger may take to answer; Azure's load balancer waits for 230 seconds."""
    cold_start_s: Duration = 2.0
    """How long a new instance takes to start, for the choice between nodes."""

    @model_validator(mode="after")
    def _check_keys(self) -> Self:
        if self.durable_key is None and any(one.orchestrator is not None for one in self.functions):
            words = "is missing; orchestrations are started with the app's system key `durabletask_extension`"
            raise AtField(("durable_key",), words)
        return self
