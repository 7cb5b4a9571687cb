"""Reads the cause of a failure from an engine's words: one readable table for each backend.

The first rule that matches decides, so tables begin with what a workload causes: its names may appear in any message.
"""

import re
from collections.abc import Sequence
from typing import NamedTuple

from dovetail.backends.contract import Refusal
from dovetail.model.failure_cause import FailureCause


class FailureRule(NamedTuple):
    """`pattern`: a regular expression, found anywhere in the words, in upper or lower case. `advice`: what to do."""

    pattern: str
    cause: FailureCause
    advice: str = ""


class FailureRules:
    def __init__(self, rules: Sequence[FailureRule]) -> None:
        self._rules = [(re.compile(rule.pattern, re.IGNORECASE), rule) for rule in rules]

    def cause(self, words: str) -> FailureCause:
        rule = self._first(words)
        return FailureCause.UNKNOWN if rule is None else rule.cause

    def advised(self, words: str) -> str:
        """The words, with what to do about it where a rule knows that."""
        rule = self._first(words)
        if rule is None or not rule.advice or words.endswith(rule.advice):
            return words
        return f"{words}; {rule.advice}"

    def refusal(self, words: str) -> Refusal:
        return Refusal(self.advised(words), self.cause(words))

    def _first(self, words: str) -> FailureRule | None:
        return next((rule for pattern, rule in self._rules if pattern.search(words)), None)
