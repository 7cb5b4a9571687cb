"""Expressions written as structures, and the text that says the same."""

from dovetail.model.constraint import Expression


def text_of(expression: Expression) -> str:
    """The expression as text. Raises ExpressionError for a structure that says nothing."""
    assert isinstance(expression, str)
    return expression
