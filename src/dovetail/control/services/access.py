"""Who calls: whose token a request carries; the tokens of nodes, for joining, and of browsers.

Guarantees: only digests of tokens are kept. A join token admits no more nodes than it says, also after a crash, and
none after its time. A node has one token at most; a new one makes the old one worthless. A login link opens one session
of a browser. Changes are durable when their method returns.
"""

import asyncio
import time
from dataclasses import dataclass, replace
from functools import partial
from typing import NamedTuple

from dovetail.access.tokens import TokenKind, digest_of, new_token
from dovetail.control.errors import Conflict, NotFound
from dovetail.control.loop.store_access import on_store_thread
from dovetail.control.services.admin_token import AdminToken
from dovetail.control.services.session_uses import SessionUse, SessionUses
from dovetail.model.record import TokenRecord
from dovetail.model.text.listing import count
from dovetail.store.contract import Store

MOST_JOIN_TOKENS = 1000
MOST_SESSIONS = 200  # the oldest end first
LINK_TTL_S, SESSION_TTL_S = 300.0, 12 * 3600.0
_OF_BROWSERS = (TokenKind.LOGIN, TokenKind.SESSION)


@dataclass(frozen=True, slots=True)
class Caller:
    """Whom a token speaks for. `node`: the only node of a node's token, or as which alone a join token lets an agent
    join. `token`: the id of a join token that admits any new node."""

    kind: TokenKind
    node: str | None = None
    token: int | None = None


class OpenSession(NamedTuple):
    """A session of a browser. `use`: None if it was not used since the server started."""

    record: TokenRecord
    use: SessionUse | None


class AccessService:
    def __init__(self, store: Store, admin: AdminToken) -> None:
        self.admin = admin
        self._store = store
        self._by_digest: dict[str, TokenRecord] = {}
        self._of_nodes: dict[str, str] = {}  # the digest by node
        self._next_id = 1
        self._turn = asyncio.Lock()
        self._uses = SessionUses()

    def restore(self, records: list[TokenRecord]) -> None:
        for record in records:
            self._replace([], record)
        self._next_id = max((record.id for record in records), default=0) + 1

    def caller(self, token: str) -> Caller | None:
        """None for a token that is worth nothing here, or nothing any more."""
        if self.admin.matches(token):
            return Caller(TokenKind.ADMIN)
        record = self._by_digest.get(digest_of(token))
        if record is None or not _is_valid(record, time.time()):
            return None
        admits_any = record.kind == TokenKind.JOIN and record.node is None
        return Caller(TokenKind(record.kind), record.node, record.id if admits_any else None)

    # --- nodes -------------------------------------------------------------------------------------------------

    async def node_token(self, node: str) -> str:
        """A new token of this node, instead of the one that it had."""
        return await self._new_of_node(TokenKind.NODE, node)

    async def machine_token(self, node: str, ttl_s: float) -> str:
        """With it the agent of a machine that was launched joins as this node, once. It replaces the token that the
        node had, and the token that the agent gets replaces it."""
        return await self._new_of_node(TokenKind.JOIN, node, expires_at=time.time() + ttl_s)

    async def _new_of_node(self, kind: TokenKind, node: str, expires_at: float | None = None) -> str:
        async with self._turn:
            token = new_token(kind)
            record = TokenRecord(self._take_id(), kind, digest_of(token), time.time(), node, expires_at)
            old = self._of_node(node)
            await on_store_thread(partial(self._store.put_token, record, old))
            self._replace(old, record)
            return token

    def has_token(self, node: str) -> bool:
        """Whether an agent has joined as this node and may speak for it."""
        record = self._by_digest.get(self._of_nodes.get(node, ""))
        return record is not None and record.kind == TokenKind.NODE

    async def forget_node(self, node: str) -> None:
        async with self._turn:
            await self._forget(self._of_node(node))

    # --- joining -----------------------------------------------------------------------------------------------

    async def join_token(self, uses: int, ttl_s: float) -> tuple[str, TokenRecord]:
        async with self._turn:
            old = [digest for digest, known in self._by_digest.items() if not _is_valid(known, time.time())]
            if len(self.join_tokens()) >= MOST_JOIN_TOKENS:
                words = f"there are {count(MOST_JOIN_TOKENS, 'join token')} already; revoke some: dovetail token revoke"
                raise Conflict(words)
            token, now = new_token(TokenKind.JOIN), time.time()
            record = TokenRecord(
                self._take_id(), TokenKind.JOIN, digest_of(token), now, expires_at=now + ttl_s, uses_left=uses
            )
            await on_store_thread(partial(self._store.put_token, record, old))
            self._replace(old, record)
            return token, record

    def join_tokens(self) -> list[TokenRecord]:
        """Join tokens that are still valid, by id; without those made for machines that were launched."""
        now = time.time()
        valid = (known for known in self._by_digest.values() if known.node is None and _is_valid(known, now))
        return sorted((known for known in valid if known.kind == TokenKind.JOIN), key=lambda known: known.id)

    async def spend(self, join_token: int) -> None:
        """Count one use, before it is used. Raises Conflict if there is none left."""
        async with self._turn:
            record = next((known for known in self.join_tokens() if known.id == join_token), None)
            if record is None or record.uses_left is None:
                raise Conflict("this join token has admitted all the nodes that it may; ask for another")
            spent = replace(record, uses_left=record.uses_left - 1)
            await on_store_thread(partial(self._store.put_token, spent, [record.digest]))
            self._replace([record.digest], spent)

    async def revoke(self, join_token: int) -> None:
        async with self._turn:
            record = next((known for known in self.join_tokens() if known.id == join_token), None)
            if record is None:
                raise NotFound(f"no join token {join_token}; dovetail token list shows them")
            await self._forget([record.digest])

    # --- browsers ----------------------------------------------------------------------------------------------

    async def login_link(self) -> tuple[str, float]:
        """A token that opens one session within a few minutes, and when it expires."""
        async with self._turn:
            return await self._new_of_browser(TokenKind.LOGIN, LINK_TTL_S)

    async def open_session(self, token: str) -> tuple[str, float] | None:
        """A session for who has an unused login link or the admin token, and when it ends; None for anybody else."""
        async with self._turn:
            digest = digest_of(token)
            link = self._by_digest.get(digest)
            if not self.admin.matches(token):
                if link is None or link.kind != TokenKind.LOGIN or not _is_valid(link, time.time()):
                    return None
                await self._forget([digest])  # before it is used
            return await self._new_of_browser(TokenKind.SESSION, SESSION_TTL_S)

    def session_end(self, token: str) -> float | None:
        """When this session ends; None if it has."""
        record = self._by_digest.get(digest_of(token))
        if record is None or record.kind != TokenKind.SESSION or not _is_valid(record, time.time()):
            return None
        return record.expires_at

    def session_used(self, token: str, agent: str) -> None:
        """A browser that calls itself so has just asked with this session."""
        self._uses.note(digest_of(token), agent, time.time())

    def sessions(self) -> list[OpenSession]:
        """Those of browsers that can still be used, oldest first."""
        now = time.time()
        valid = [
            known for known in self._by_digest.values() if known.kind == TokenKind.SESSION and _is_valid(known, now)
        ]
        return [OpenSession(one, self._uses.last(one.digest)) for one in sorted(valid, key=lambda one: one.id)]

    def session_number(self, token: str) -> int | None:
        """Which of them this token is of."""
        record = self._by_digest.get(digest_of(token))
        return None if record is None or record.kind != TokenKind.SESSION else record.id

    async def end_session_number(self, number: int) -> None:
        async with self._turn:
            found = [one.record.digest for one in self.sessions() if one.record.id == number]
            if not found:
                raise NotFound(f"no session {number} of a browser is open; dovetail token sessions shows them")
            await self._forget(found)

    async def end_session(self, token: str) -> None:
        async with self._turn:
            await self._forget([digest for digest in [digest_of(token)] if digest in self._by_digest])

    async def end_sessions(self) -> None:
        """Of all browsers, and the links that would open more."""
        async with self._turn:
            await self._forget([digest for digest, known in self._by_digest.items() if known.kind in _OF_BROWSERS])

    async def _new_of_browser(self, kind: TokenKind, ttl_s: float) -> tuple[str, float]:
        now = time.time()
        token, expires_at = new_token(kind), now + ttl_s
        known = sorted((one for one in self._by_digest.values() if one.kind in _OF_BROWSERS), key=lambda one: one.id)
        old = [one.digest for one in known[: max(0, len(known) - MOST_SESSIONS + 1)] if _is_valid(one, now)]
        old += [one.digest for one in known if not _is_valid(one, now)]
        record = TokenRecord(self._take_id(), kind, digest_of(token), now, expires_at=expires_at)
        await on_store_thread(partial(self._store.put_token, record, old))
        self._replace(old, record)
        return token, expires_at

    async def _forget(self, digests: list[str]) -> None:
        if digests:
            await on_store_thread(self._store.remove_tokens, digests)
            self._replace(digests)

    # --- inside ------------------------------------------------------------------------------------------------

    def _take_id(self) -> int:
        self._next_id += 1
        return self._next_id - 1

    def _of_node(self, node: str) -> list[str]:
        return [self._of_nodes[node]] if node in self._of_nodes else []

    def _replace(self, old: list[str], record: TokenRecord | None = None) -> None:
        for digest in old:
            gone = self._by_digest.pop(digest, None)
            self._uses.forget(digest)
            if gone is not None and gone.node is not None:
                self._of_nodes.pop(gone.node, None)
        if record is not None:
            self._by_digest[record.digest] = record
            if record.node is not None:
                self._of_nodes[record.node] = record.digest


def _is_valid(record: TokenRecord, now: float) -> bool:
    has_time = record.expires_at is None or now < record.expires_at
    return has_time and (record.uses_left is None or record.uses_left > 0)
