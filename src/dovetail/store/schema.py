"""The tables: what is remembered, in SQL that SQLite and PostgreSQL both understand.

Guarantees: this module and the migrations describe the same schema (a test compares them). Column names are the
attribute names of the records in `model.record` wherever a column holds one attribute, which is how rows are filled.

Leaves to others: creating the tables (`migrations`), filling them (`writing`), reading them (`reading`, `restoring`).

Times are seconds since the epoch. `workloads.id` is given by the caller; `counters` remembers the highest id ever
used, so that an id is not used again after its workload was pruned: attempt keys are made of it and are for ever.
"""

from typing import Any

from sqlalchemy import (
    BigInteger,
    Boolean,
    Column,
    Double,
    ForeignKey,
    Index,
    Integer,
    LargeBinary,
    MetaData,
    Table,
    Text,
    UniqueConstraint,
    text,
)

from dovetail.model.task import HOLDING, WorkloadState

# SQLite counts up only a column declared INTEGER; PostgreSQL needs 64 bits.
Id = BigInteger().with_variant(Integer, "sqlite")

metadata = MetaData(
    naming_convention={
        "pk": "pk_%(table_name)s",
        "uq": "uq_%(table_name)s_%(column_0_N_name)s",
        "fk": "fk_%(table_name)s_%(column_0_N_name)s",
        "ix": "ix_%(table_name)s_%(column_0_N_name)s",
    }
)


def _where(condition: str) -> dict[str, Any]:
    """Makes an index partial, in the words of both databases."""
    return {"sqlite_where": text(condition), "postgresql_where": text(condition)}


UNFINISHED = tuple(str(state) for state in WorkloadState if not state.finished)

# Written out as literals, in the index and in the query alike: SQLite uses a partial index only if the query repeats
# its condition word for word.
HOLDS_NODE = "state IN (" + ", ".join(f"'{state}'" for state in sorted(HOLDING)) + ")"

# Equal shapes are stored once: the digest of the text finds them. Workloads refer to the short id, whose order is that
# of arrival, because an index over digests touches a page a row.
shapes = Table(
    "shapes",
    metadata,
    Column("id", Id, primary_key=True),
    Column("digest", LargeBinary, nullable=False, unique=True),
    Column("json", Text, nullable=False),
)

workloads = Table(
    "workloads",
    metadata,
    Column("id", Id, primary_key=True, autoincrement=False),
    Column("namespace", Text, nullable=False),
    Column("name", Text, nullable=False),
    Column("kind", Text, nullable=False),
    Column("priority", Text, nullable=False),
    Column("user", Text),
    Column("service", Text),
    Column("replicas", Integer, nullable=False),
    Column("spec_json", Text, nullable=False),
    Column("shape", Id, ForeignKey("shapes.id"), nullable=False, index=True),
    Column("submitted_at", Double, nullable=False),
    Column("state", Text, nullable=False),
    Column("reason", Text, nullable=False),
    Column("message", Text, nullable=False),
    Column("pending", Integer, nullable=False),
    Column("active", Integer, nullable=False),
    Column("succeeded", Integer, nullable=False),
    Column("failed", Integer, nullable=False),
    Column("cancelled", Integer, nullable=False),
    Column("started_at", Double),
    Column("finished_at", Double),
    # Lists are newest first, so every list index ends with the id.
    Index(None, "namespace", "name", "id"),
    Index(None, "namespace", "id"),
    Index(None, "state", "id"),
    Index(None, "user", "id", **_where('"user" IS NOT NULL')),
    Index(None, "service", "id", **_where("service IS NOT NULL")),
    Index(None, "finished_at", **_where("finished_at IS NOT NULL")),  # for pruning
)

# A task without a row is pending for the first time: see `unwritten`. `devices`: the slots of its GPUs, as a JSON list;
# most have none, and no value.
tasks = Table(
    "tasks",
    metadata,
    Column("workload", Id, ForeignKey("workloads.id"), primary_key=True, autoincrement=False),
    Column("replica", Integer, primary_key=True, autoincrement=False),
    Column("state", Text, nullable=False),
    Column("attempt", Integer, nullable=False),
    Column("node", Text),
    Column("backend", Text),
    Column("reason", Text, nullable=False),
    Column("message", Text, nullable=False),
    Column("exit_code", Integer),
    Column("placed_at", Double),
    Column("started_at", Double),
    Column("finished_at", Double),
    Column("failures", Integer, nullable=False),
    Column("bind_failures", Integer, nullable=False),
    Column("devices", Text),
    Index(None, "node", **_where(HOLDS_NODE)),
    sqlite_with_rowid=False,
)

nodes = Table(
    "nodes",
    metadata,
    Column("name", Text, primary_key=True),
    Column("row", Integer, nullable=False),
    Column("definition", Text, nullable=False),
    Column("online", Boolean, nullable=False),
    Column("cordoned", Boolean, nullable=False),
    Column("drained", Boolean, nullable=False),
    Column("reason", Text, nullable=False),
)

# What its backend said of a node last, as JSON, without what people added to it: to know what is whose when the backend
# speaks again. Apart from `nodes`, because it changes on other occasions.
node_announcements = Table(
    "node_announcements",
    metadata,
    Column("node", Text, primary_key=True),
    Column("said", Text, nullable=False),
)

# How many tasks succeeded and failed on a node so far, and how many times as long as usual they took, as the sum and
# the weight of a mean; no row: none yet. Apart from `nodes`, because it changes with every task that ends and a node's
# definition hardly ever.
node_outcomes = Table(
    "node_outcomes",
    metadata,
    Column("node", Text, primary_key=True),
    Column("succeeded", Id, nullable=False),
    Column("failed", Id, nullable=False),
    Column("pace_sum", Double, nullable=False, server_default="0"),
    Column("pace_weight", Double, nullable=False, server_default="0"),
)

# `target` is what was asked for and `holds` what is held for it on which node, as JSON. The window is the one that is
# now or comes next; `last` is the moment after which none begins.
reservations = Table(
    "reservations",
    metadata,
    Column("id", Id, primary_key=True, autoincrement=False),
    Column("target", Text, nullable=False),
    Column("holds", Text, nullable=False),
    Column("start", Double, nullable=False),
    Column("end", Double, nullable=False),
    Column("begun", Boolean, nullable=False),
    Column("every_s", Double),
    Column("last", Double),
    Column("tenant", Text),
    Column("holder", Text, nullable=False),
    Column("trouble", Text, nullable=False),
)

# Every version of every policy, for ever; what counts is the highest of each name. No definition: it was removed then.
policies = Table(
    "policies",
    metadata,
    Column("name", Text, primary_key=True),
    Column("version", Integer, primary_key=True, autoincrement=False),
    Column("at", Double, nullable=False),
    Column("author", Text, nullable=False),
    Column("note", Text, nullable=False),
    Column("definition", Text),
)

# Backends that were added while the server ran; those of its settings are not here. Secrets in `settings` are sealed.
backends = Table(
    "backends",
    metadata,
    Column("name", Text, primary_key=True),
    Column("kind", Text, nullable=False),
    Column("settings", Text, nullable=False),
    Column("added_at", Double, nullable=False),
)

# What a restart needs to know of an unfinished workload beyond its definition and its tasks; most have no row.
workload_notes = Table(
    "workload_notes",
    metadata,
    Column("workload", Id, ForeignKey("workloads.id"), primary_key=True, autoincrement=False),
    Column("json", Text, nullable=False),
)

# What the scheduler learned, by name.
memory = Table(
    "memory",
    metadata,
    Column("name", Text, primary_key=True),
    Column("json", Text, nullable=False),
)

# Where the profiles that choose in turn are: the row, among those of `nodes`, that was chosen last.
cursors = Table(
    "cursors",
    metadata,
    Column("profile", Text, primary_key=True),
    Column("row", Integer, nullable=False),
)

# One row an attempt: deciding again about a task that stays pending replaces what was said before.
decisions = Table(
    "decisions",
    metadata,
    Column("workload", Id, ForeignKey("workloads.id"), primary_key=True, autoincrement=False),
    Column("replica", Integer, primary_key=True, autoincrement=False),
    Column("attempt", Integer, primary_key=True, autoincrement=False),
    Column("at", Double, nullable=False),
    Column("node", Text),
    Column("outcome", Text, nullable=False),
    Column("explanation", LargeBinary, nullable=False),
    Index(None, "workload", "at"),
)

# Commands on their way to a backend, in the order given; a row goes when its command is done.
outbox = Table(
    "outbox",
    metadata,
    Column("id", Id, primary_key=True),
    Column("kind", Text, nullable=False),
    Column("key", Text, nullable=False),
    Column("workload", Id, nullable=False),
    Column("replica", Integer, nullable=False),
    Column("node", Text, nullable=False),
    Column("backend", Text, nullable=False),
    Column("reason", Text, nullable=False),
    Column("devices", Text),
    UniqueConstraint("kind", "key"),
    sqlite_autoincrement=True,
)

# No foreign keys: history outlives what it tells about. `seq` never runs backwards, also after pruning.
history = Table(
    "history",
    metadata,
    Column("seq", Id, primary_key=True),
    Column("at", Double, nullable=False),
    Column("kind", Text, nullable=False),
    Column("message", Text, nullable=False),
    Column("workload", Id),
    Column("replica", Integer),
    Column("node", Text),
    Column("backend", Text),
    Index(None, "workload", "seq", **_where("workload IS NOT NULL")),
    Index(None, "node", "seq", **_where("node IS NOT NULL")),
    Index(None, "backend", "seq", **_where("backend IS NOT NULL")),
    sqlite_autoincrement=True,
)

idempotency = Table(
    "idempotency",
    metadata,
    Column("key", Text, primary_key=True),
    Column("response", Text, nullable=False),
    Column("at", Double, nullable=False),
)

counters = Table(
    "counters",
    metadata,
    Column("name", Text, primary_key=True),
    Column("value", Id, nullable=False),
)
