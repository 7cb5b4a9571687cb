"""Tokens: how they are made, and how they are compared and kept without being known.

A token has 256 random bits, so its plain SHA-256 can be kept: there is nothing to guess.
"""

import secrets
from enum import StrEnum
from hashlib import sha256
from hmac import compare_digest

MIN_LENGTH, MAX_LENGTH = 20, 500  # of a token that somebody wrote himself


class TokenKind(StrEnum):
    ADMIN = "admin"
    NODE = "node"
    JOIN = "join"
    LOGIN = "login"  # opens one session of a browser
    SESSION = "session"  # a browser keeps it in a cookie


def new_token(kind: TokenKind) -> str:
    """Its first words say what it is for, so that one found in a wrong place is recognised."""
    return f"dovetail_{kind}_{secrets.token_urlsafe(32)}"


def csrf_of(session: str) -> str:
    """What a page sends along with each change. Only a page of this server can know it, and it opens nothing itself."""
    return digest_of(f"csrf {session}")


def digest_of(token: str) -> str:
    return sha256(token.encode()).hexdigest()


def is_same(digest: str, other: str) -> bool:
    """In a time that tells nothing about where they differ."""
    return compare_digest(digest, other)


def is_usable(token: str) -> bool:
    """Whether a header can carry it, and nobody guesses it soon."""
    fits = MIN_LENGTH <= len(token) <= MAX_LENGTH
    return fits and token.isascii() and token.isprintable() and not any(letter.isspace() for letter in token)
