"""The tables: what is remembered, in SQL that SQLite and PostgreSQL both understand.

Guarantees: this module and the migrations describe the same schema (a test compares them). Column names are the
attribute names of the records in `model.record` wherever a column holds one attribute, which is how rows are filled.

Times are seconds since the epoch. `workloads.id` is given by the caller; `counters` remembers the highest id ever
used, so that an id is not used again after its workload was pruned: attempt keys are made of it and are for ever.
"""

from typing import Any

import sqlalchemy as sa

from dovetail.model.task import HOLDING, WorkloadState

# SQLite counts up only a column declared INTEGER; PostgreSQL needs 64 bits.
Id = sa.BigInteger().with_variant(sa.Integer, "sqlite")

metadata = sa.MetaData(
    naming_convention={
        "pk": "pk_%(table_name)s",
        "uq": "uq_%(table_name)s_%(column_0_N_name)s",
        "fk": "fk_%(table_name)s_%(column_0_N_name)s",
        "ix": "ix_%(table_name)s_%(column_0_N_name)s",
    }
)


def _where(condition: str) -> dict[str, Any]:
    """Makes an index partial, in the words of both databases."""
    return {"sqlite_where": sa.text(condition), "postgresql_where": sa.text(condition)}


UNFINISHED = tuple(str(state) for state in WorkloadState if not state.finished)

# Written out as literals, in the index and in the query alike: SQLite uses a partial index only if the query repeats
# its condition word for word.
HOLDS_NODE = "state IN (" + ", ".join(f"'{state}'" for state in sorted(HOLDING)) + ")"

# Equal shapes are stored once: the digest of the text finds them. Workloads refer to the short id, whose order is that
# of arrival, because an index over digests touches a page a row.
shapes = sa.Table(
    "shapes",
    metadata,
    sa.Column("id", Id, primary_key=True),
    sa.Column("digest", sa.LargeBinary, nullable=False, unique=True),
    sa.Column("json", sa.Text, nullable=False),
)

workloads = sa.Table(
    "workloads",
    metadata,
    sa.Column("id", Id, primary_key=True, autoincrement=False),
    sa.Column("namespace", sa.Text, nullable=False),
    sa.Column("name", sa.Text, nullable=False),
    sa.Column("kind", sa.Text, nullable=False),
    sa.Column("priority", sa.Text, nullable=False),
    sa.Column("user", sa.Text),
    sa.Column("service", sa.Text),
    sa.Column("replicas", sa.Integer, nullable=False),
    sa.Column("spec_json", sa.Text, nullable=False),
    sa.Column("shape", Id, sa.ForeignKey("shapes.id"), nullable=False, index=True),
    sa.Column("submitted_at", sa.Double, nullable=False),
    sa.Column("state", sa.Text, nullable=False),
    sa.Column("reason", sa.Text, nullable=False),
    sa.Column("message", sa.Text, nullable=False),
    sa.Column("pending", sa.Integer, nullable=False),
    sa.Column("active", sa.Integer, nullable=False),
    sa.Column("succeeded", sa.Integer, nullable=False),
    sa.Column("failed", sa.Integer, nullable=False),
    sa.Column("cancelled", sa.Integer, nullable=False),
    sa.Column("started_at", sa.Double),
    sa.Column("finished_at", sa.Double),
    sa.Column("queue", sa.Text),  # its path; none for work of versions that did not write it down
    # Lists are newest first, so every list index ends with the id.
    sa.Index(None, "namespace", "name", "id"),
    sa.Index(None, "namespace", "id"),
    sa.Index(None, "state", "id"),
    sa.Index(None, "user", "id", **_where('"user" IS NOT NULL')),
    sa.Index(None, "service", "id", **_where("service IS NOT NULL")),
    sa.Index(None, "queue", "id", **_where("queue IS NOT NULL")),
    sa.Index(None, "finished_at", **_where("finished_at IS NOT NULL")),  # for pruning
)

# A task without a row never left the queue: see `unwritten`. `devices`: the slots of its GPUs, as a JSON list;
# most have none, and no value.
tasks = sa.Table(
    "tasks",
    metadata,
    sa.Column("workload", Id, sa.ForeignKey("workloads.id"), primary_key=True, autoincrement=False),
    sa.Column("replica", sa.Integer, primary_key=True, autoincrement=False),
    sa.Column("state", sa.Text, nullable=False),
    sa.Column("attempt", sa.Integer, nullable=False),
    sa.Column("node", sa.Text),
    sa.Column("backend", sa.Text),
    sa.Column("reason", sa.Text, nullable=False),
    sa.Column("message", sa.Text, nullable=False),
    sa.Column("exit_code", sa.Integer),
    sa.Column("placed_at", sa.Double),
    sa.Column("started_at", sa.Double),
    sa.Column("finished_at", sa.Double),
    sa.Column("failures", sa.Integer, nullable=False),
    sa.Column("bind_failures", sa.Integer, nullable=False),
    sa.Column("devices", sa.Text),
    sa.Index(None, "node", **_where(HOLDS_NODE)),
    sqlite_with_rowid=False,
)

# Attempts that ended while their task went on; the latest one is in `tasks`, so most tasks have none here. One that
# migrated live has a row for each node that it left.
attempts = sa.Table(
    "attempts",
    metadata,
    sa.Column("workload", Id, sa.ForeignKey("workloads.id"), primary_key=True, autoincrement=False),
    sa.Column("replica", sa.Integer, primary_key=True, autoincrement=False),
    sa.Column("attempt", sa.Integer, primary_key=True, autoincrement=False),
    sa.Column("ended_at", sa.Double, primary_key=True),
    sa.Column("node", sa.Text, nullable=False),
    sa.Column("backend", sa.Text, nullable=False),
    sa.Column("placed_at", sa.Double, nullable=False),
    sa.Column("started_at", sa.Double),
    sa.Column("reason", sa.Text, nullable=False),
    sa.Column("message", sa.Text, nullable=False),
    sa.Column("exit_code", sa.Integer),
    sqlite_with_rowid=False,
)

nodes = sa.Table(
    "nodes",
    metadata,
    sa.Column("name", sa.Text, primary_key=True),
    sa.Column("row", sa.Integer, nullable=False),
    sa.Column("definition", sa.Text, nullable=False),
    sa.Column("online", sa.Boolean, nullable=False),
    sa.Column("cordoned", sa.Boolean, nullable=False),
    sa.Column("drained", sa.Boolean, nullable=False),
    sa.Column("reason", sa.Text, nullable=False),
)

# What a node cost from when on, and what it had then; no row: it never cost anything. Price 0: nothing from then on.
# Written with the step that changed the node, for accounting (`cost_facts`).
node_prices = sa.Table(
    "node_prices",
    metadata,
    sa.Column("node", sa.Text, primary_key=True),
    sa.Column("at", sa.Double, primary_key=True),
    sa.Column("backend", sa.Text, nullable=False),
    sa.Column("currency", sa.Text, nullable=False),
    sa.Column("price_nanos", Id, nullable=False),
    sa.Column("running", sa.Boolean, nullable=False),
    sa.Column("cpu", Id, nullable=False),
    sa.Column("memory", Id, nullable=False),
    sa.Column("gpu", Id, nullable=False),
)

# What its backend said of a node last, as JSON, without what people added to it: it shows what the backend withdraws
# when it speaks again. Apart from `nodes`, because it changes on other occasions.
node_announcements = sa.Table(
    "node_announcements",
    metadata,
    sa.Column("node", sa.Text, primary_key=True),
    sa.Column("said", sa.Text, nullable=False),
)

# How many tasks succeeded and failed on a node so far, and how many times as long as usual they took, as the sum and
# the weight of a mean; no row: none yet. Apart from `nodes`, because it changes with every task that ends and a node's
# definition hardly ever.
node_outcomes = sa.Table(
    "node_outcomes",
    metadata,
    sa.Column("node", sa.Text, primary_key=True),
    sa.Column("succeeded", Id, nullable=False),
    sa.Column("failed", Id, nullable=False),
    sa.Column("pace_sum", sa.Double, nullable=False, server_default="0"),
    sa.Column("pace_weight", sa.Double, nullable=False, server_default="0"),
)

# `target` is what was asked for and `holds` what is held for it on which node, as JSON. The window is the one that is
# now or comes next; `last` is the moment after which none begins.
reservations = sa.Table(
    "reservations",
    metadata,
    sa.Column("id", Id, primary_key=True, autoincrement=False),
    sa.Column("target", sa.Text, nullable=False),
    sa.Column("holds", sa.Text, nullable=False),
    sa.Column("start", sa.Double, nullable=False),
    sa.Column("end", sa.Double, nullable=False),
    sa.Column("begun", sa.Boolean, nullable=False),
    sa.Column("every_s", sa.Double),
    sa.Column("last", sa.Double),
    sa.Column("tenant", sa.Text),
    sa.Column("holder", sa.Text, nullable=False),
    sa.Column("trouble", sa.Text, nullable=False),
)

# Every version of every policy, for ever; what counts is the highest of each name. No definition: it was removed then.
policies = sa.Table(
    "policies",
    metadata,
    sa.Column("name", sa.Text, primary_key=True),
    sa.Column("version", sa.Integer, primary_key=True, autoincrement=False),
    sa.Column("at", sa.Double, nullable=False),
    sa.Column("author", sa.Text, nullable=False),
    sa.Column("note", sa.Text, nullable=False),
    sa.Column("definition", sa.Text),
)

# Backends that were added while the server ran; those of its settings are not here. Secrets in `settings` are sealed.
backends = sa.Table(
    "backends",
    metadata,
    sa.Column("name", sa.Text, primary_key=True),
    sa.Column("kind", sa.Text, nullable=False),
    sa.Column("settings", sa.Text, nullable=False),
    sa.Column("added_at", sa.Double, nullable=False),
)

# Tokens of nodes and for joining. Their text is known to their holders only.
tokens = sa.Table(
    "tokens",
    metadata,
    sa.Column("id", sa.Integer, primary_key=True, autoincrement=False),
    sa.Column("kind", sa.Text, nullable=False),
    sa.Column("digest", sa.Text, nullable=False),
    sa.Column("made_at", sa.Double, nullable=False),
    sa.Column("node", sa.Text),
    sa.Column("expires_at", sa.Double),
    sa.Column("uses_left", sa.Integer),
    sa.UniqueConstraint("digest"),
)

# What a restart needs to know of an unfinished workload beyond its definition and its tasks; most have no row.
workload_notes = sa.Table(
    "workload_notes",
    metadata,
    sa.Column("workload", Id, sa.ForeignKey("workloads.id"), primary_key=True, autoincrement=False),
    sa.Column("json", sa.Text, nullable=False),
)

# What the scheduler learned, by name.
memory = sa.Table(
    "memory",
    metadata,
    sa.Column("name", sa.Text, primary_key=True),
    sa.Column("json", sa.Text, nullable=False),
)

# Where the profiles that choose in turn are: the row, among those of `nodes`, that was chosen last.
cursors = sa.Table(
    "cursors",
    metadata,
    sa.Column("profile", sa.Text, primary_key=True),
    sa.Column("row", sa.Integer, nullable=False),
)

# One row an attempt: deciding again about a task that stays pending replaces what was said before.
decisions = sa.Table(
    "decisions",
    metadata,
    sa.Column("workload", Id, sa.ForeignKey("workloads.id"), primary_key=True, autoincrement=False),
    sa.Column("replica", sa.Integer, primary_key=True, autoincrement=False),
    sa.Column("attempt", sa.Integer, primary_key=True, autoincrement=False),
    sa.Column("at", sa.Double, nullable=False),
    sa.Column("node", sa.Text),
    sa.Column("outcome", sa.Text, nullable=False),
    sa.Column("explanation", sa.LargeBinary, nullable=False),
    sa.Index(None, "workload", "at"),
)

# Commands on their way to a backend, in the order given; a row goes when its command is done.
outbox = sa.Table(
    "outbox",
    metadata,
    sa.Column("id", Id, primary_key=True),
    sa.Column("kind", sa.Text, nullable=False),
    sa.Column("key", sa.Text, nullable=False),
    sa.Column("workload", Id, nullable=False),
    sa.Column("replica", sa.Integer, nullable=False),
    sa.Column("node", sa.Text, nullable=False),
    sa.Column("backend", sa.Text, nullable=False),
    sa.Column("reason", sa.Text, nullable=False),
    sa.Column("devices", sa.Text),
    sa.Column("migrate_to", sa.Text),  # the target, if a stop may be carried out as a live migration
    sa.Column("gang", sa.Text),  # `KEY/COUNT` of those that it starts with
    sa.UniqueConstraint("kind", "key"),
    sqlite_autoincrement=True,
)

#: Lines that people look for among millions of others: what changed, and what went wrong.
RARE_KINDS = ("backend", "budget", "failed", "lost", "node", "note", "policy", "preempted", "recovery", "stopping")
_IS_RARE = "kind IN (" + ", ".join(f"'{kind}'" for kind in RARE_KINDS) + ")"

# No foreign keys: history outlives what it tells about. `seq` never runs backwards, also after pruning.
history = sa.Table(
    "history",
    metadata,
    sa.Column("seq", Id, primary_key=True),
    sa.Column("at", sa.Double, nullable=False),
    sa.Column("kind", sa.Text, nullable=False),
    sa.Column("message", sa.Text, nullable=False),
    sa.Column("workload", Id),
    sa.Column("replica", sa.Integer),
    sa.Column("node", sa.Text),
    sa.Column("backend", sa.Text),
    sa.Index(None, "workload", "seq", **_where("workload IS NOT NULL")),
    sa.Index(None, "node", "seq", **_where("node IS NOT NULL")),
    sa.Index(None, "backend", "seq", **_where("backend IS NOT NULL")),
    sa.Index(None, "kind", "seq", **_where(_IS_RARE)),
    sqlite_autoincrement=True,
)

idempotency = sa.Table(
    "idempotency",
    metadata,
    sa.Column("key", sa.Text, primary_key=True),
    sa.Column("response", sa.Text, nullable=False),
    sa.Column("at", sa.Double, nullable=False),
)

counters = sa.Table(
    "counters",
    metadata,
    sa.Column("name", sa.Text, primary_key=True),
    sa.Column("value", Id, nullable=False),
)
