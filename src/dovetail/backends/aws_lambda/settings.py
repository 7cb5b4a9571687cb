"""Settings of the AWS Lambda backend: which functions, and how AWS is reached.

backends:
  lambda:
    kind: aws_lambda
    region: eu-central-1
    server_credentials: true
    functions:
      - {name: resize, concurrency: 50}
      - {name: report, table: dovetail-calls}
"""

from collections.abc import Mapping
from typing import Annotated, Self

from pydantic import AfterValidator, BeforeValidator, Field, SecretStr, model_validator

from dovetail.backends.serverless.node import FunctionPrice
from dovetail.backends.serverless.settings import CallSettings, Concurrency
from dovetail.backends.settings_file_only import SETTINGS_FILE_ONLY
from dovetail.model.text.quantity import Duration
from dovetail.model.text.strict import AtField, NodeName, Strict
from dovetail.model.workloads.selection import Labels

#: List prices of most regions on 2026-11-01, by architecture: https://aws.amazon.com/lambda/pricing/
LIST_PRICES = {
    "x86_64": FunctionPrice(per_gb_second=0.0000166667),
    "arm64": FunctionPrice(per_gb_second=0.0000133334),
}
FunctionId = Annotated[str, Field(pattern=r"^[A-Za-z0-9_-]{1,64}$")]
Qualifier = Annotated[str, Field(pattern=r"^(\$LATEST|[A-Za-z0-9_-]{1,128})$")]


class LambdaFunction(Strict):
    name: FunctionId
    """Its name in Lambda; the node has it in the label `function`."""
    node: NodeName | None = None
    """The node's name; by default that of the function."""
    qualifier: Qualifier | None = None
    """The version or alias that is called, if a workload does not say."""
    concurrency: Concurrency | None = None
    """The most calls at once; by default the function's reserved concurrency, or what the account leaves unreserved."""
    table: Annotated[str, Field(pattern=r"^[A-Za-z0-9_.-]{3,255}$")] | None = None
    """The DynamoDB table of its results, for a function under `recorded`; without it, answers are awaited."""
    labels: Labels = {}
    """More labels of the node."""

    @property
    def node_name(self) -> str:
        return self.node or self.name


def _as_list(functions: object) -> object:
    """A mapping by name is a list of functions with that name."""
    if not isinstance(functions, Mapping):
        return functions
    return [
        {"name": name, **(one or {})} if isinstance(one, Mapping | None) else one for name, one in functions.items()
    ]


def _check_functions(functions: list[LambdaFunction]) -> list[LambdaFunction]:
    names: set[str] = set()
    for index, one in enumerate(functions):
        if one.node_name in names:
            raise AtField((index, "name"), f"{one.node_name!r} stands twice; give one of them another node")
        names.add(one.node_name)
    return functions


class LambdaSettings(CallSettings):
    region: Annotated[str, Field(pattern=r"^[a-z0-9-]{3,40}$")]
    """The region of the functions, such as `eu-central-1`."""
    functions: Annotated[
        list[LambdaFunction],
        Field(min_length=1, max_length=1000),
        BeforeValidator(_as_list),
        AfterValidator(_check_functions),
    ]
    """The functions that may be called, each a node: a list, or a mapping by name: `functions: {resize: {}}`."""
    access_key_id: Annotated[str, Field(min_length=1, max_length=200)] | None = None
    """The access key of an IAM user or role."""
    secret_access_key: SecretStr | None = None
    """The secret of the access key; it is never shown."""
    session_token: SecretStr | None = None
    """The session token of temporary credentials; it is never shown."""
    server_credentials: Annotated[bool, SETTINGS_FILE_ONLY] = False
    """Use the credentials of the server's own machine or environment, as boto3 finds them, instead of an access key."""
    profile: Annotated[str, Field(min_length=1, max_length=200), SETTINGS_FILE_ONLY] | None = None
    """With `server_credentials`: the profile of the server's AWS configuration."""
    endpoint: Annotated[str, Field(pattern=r"^https?://[^\s/?#@]+$", max_length=500)] | None = None
    """Another address of AWS, such as that of an emulator or a private endpoint."""
    price: FunctionPrice | None = None
    """What calls cost; by default the list price of the function's architecture."""
    answer_within_s: Annotated[Duration, Field(ge=0.5, le=60)] = 10.0
    """How long a short request may take. A call whose answer is awaited may take as long as its function runs."""
    cold_start_s: Duration = 0.5
    """How long a new execution takes to start, for the choice between nodes."""

    @model_validator(mode="after")
    def _check_credentials(self) -> Self:
        if (self.access_key_id is None) != (self.secret_access_key is None):
            missing = "access_key_id" if self.access_key_id is None else "secret_access_key"
            raise AtField((missing,), "is missing: access_key_id and secret_access_key are given together")
        if self.access_key_id is None and not self.server_credentials:
            words = "is missing; give an access key, or put server_credentials: true into the settings file"
            raise AtField(("access_key_id",), words)
        if self.access_key_id is not None and self.server_credentials:
            raise AtField(("server_credentials",), "does not go with access_key_id; leave one of them out")
        return self
