"""Commands of Click made from functions: a signature becomes options and arguments (`parameters`), a docstring help.

Guarantees: a command is made only when it is called or its help is shown, so a group with many actions costs no more
than one with one. Typer does the same and more, but takes longer to start than most commands run
(`docs/decisions/0009-start-of-commands.md`).
"""

import inspect
from collections.abc import Callable, Sequence
from enum import Enum
from os import PathLike
from types import NoneType, UnionType
from typing import TYPE_CHECKING, Annotated, Any, Literal, Union, cast, get_args, get_origin, get_type_hints

import click

from dovetail.cli.terminal.parameters import Argument, Parameter

if TYPE_CHECKING:
    from click.shell_completion import CompletionItem

Function = Callable[..., None]
_NOT_SHOWN: tuple[Any, ...] = (None, "", [], False)  # defaults that say nothing


def command_of(function: Function, name: str, text: str | None = None) -> click.Command:
    """`text`: the help, instead of the function's docstring."""
    text = text or inspect.getdoc(function)
    return DescribedCommand(name, params=parameters_of(function), callback=function, help=text)


def parameters_of(function: Function) -> list[click.Parameter]:
    annotations = get_type_hints(function, include_extras=True)
    return [_parameter(one, annotations[one.name]) for one in inspect.signature(function).parameters.values()]


class DescribedCommand(click.Command):
    """Its help describes the arguments, too."""

    def format_options(self, ctx: click.Context, formatter: click.HelpFormatter) -> None:
        arguments = [one.described() for one in self.get_params(ctx) if isinstance(one, DescribedArgument)]
        if arguments:
            with formatter.section("Arguments"):
                formatter.write_dl(arguments)
        super().format_options(ctx, formatter)


class DescribedArgument(click.Argument):
    def __init__(self, name: str, text: str, **how: Any) -> None:
        super().__init__([name], **how)
        self.text = text

    def make_metavar(self, ctx: click.Context) -> str:  # noqa: ARG002 - Click's signature
        word = self.metavar or self.name.upper()
        word = word if self.required else f"[{word}]"
        return f"{word}..." if self.nargs != 1 else word

    def described(self) -> tuple[str, str]:
        return self.metavar or self.name.upper(), f"{self.text}  [required]" if self.required else self.text


class CommandGroup(click.Group):
    """Commands that are called actions here, as `label` in `nodes label`."""

    def __init__(self, text: str, name: str | None = None, **how: Any) -> None:
        super().__init__(name, help=text, **how)
        self._functions: dict[str, tuple[Function, str | None]] = {}

    def action(self, name: str, text: str | None = None) -> Callable[[Function], Function]:
        """Add the decorated function as an action."""

        def add(function: Function) -> Function:
            self._functions[name] = (function, text)
            return function

        return add

    def has_action(self, name: str) -> bool:
        return name in self._functions

    def list_commands(self, ctx: click.Context) -> list[str]:  # noqa: ARG002 - Click's signature
        return list(self._functions)

    def get_command(self, ctx: click.Context, cmd_name: str) -> click.Command | None:
        if cmd_name in self._functions and cmd_name not in self.commands:
            function, text = self._functions[cmd_name]
            self.commands[cmd_name] = command_of(function, cmd_name, text)
        return super().get_command(ctx, cmd_name)

    def resolve_command(
        self, ctx: click.Context, args: list[str]
    ) -> tuple[str | None, click.Command | None, list[str]]:
        if not self.has_action(args[0]) and not args[0].startswith("-") and not ctx.resilient_parsing:
            ctx.fail(f"No such command {args[0]!r}.{_meant(args[0], self.list_commands(ctx))}")
        return super().resolve_command(ctx, args)


def _meant(word: str, known: Sequence[str]) -> str:
    from difflib import get_close_matches

    near = get_close_matches(word, known)
    return f" Did you mean {', '.join(map(repr, near))}?" if near else ""


# --- parameters --------------------------------------------------------------------------------------------------


def _parameter(declared: inspect.Parameter, annotation: Any) -> click.Parameter:
    kind, how = _declaration(declared.name, annotation)
    kind, several = _without_list(kind)
    required = declared.default is inspect.Parameter.empty
    default = None if required else declared.default
    shared: dict[str, Any] = {
        "type": _type(kind, how),
        "required": required,
        "metavar": how.metavar,
        "callback": _callback(how, several, default),
        "is_eager": how.is_eager,
        "shell_complete": _completer(how) if how.completes or how.words else None,
    }
    if not required:  # a default of None would count as a value
        shared["default"] = None if several else default.value if isinstance(default, Enum) else default
    if isinstance(how, Argument):
        return DescribedArgument(declared.name, how.help, nargs=-1 if several else 1, **shared)
    names = how.names or (f"--{declared.name.replace('_', '-')}",)
    shown = how.show_default and default not in _NOT_SHOWN
    flag: dict[str, Any] = {"is_flag": True} if kind is bool else {"multiple": several}
    return click.Option([declared.name, *names], help=how.help, show_default=shown, **shared | flag)


def _declaration(name: str, annotation: Any) -> tuple[Any, Parameter]:
    """The type of a parameter, and the option or argument that it is."""
    if get_origin(annotation) is Annotated:
        kind, *notes = get_args(annotation)
        for note in notes:
            if isinstance(note, Parameter):
                return _without_none(kind), note
    raise TypeError(f"parameter {name} must be annotated with Option or Argument, not as {annotation!r}")


def _without_none(kind: Any) -> Any:
    if get_origin(kind) not in (UnionType, Union):
        return kind
    [found] = [one for one in get_args(kind) if one is not NoneType]
    return found


def _without_list(kind: Any) -> tuple[Any, bool]:
    return (get_args(kind)[0], True) if get_origin(kind) is list else (kind, False)


def _type(kind: Any, how: Parameter) -> click.ParamType[Any]:
    if get_origin(kind) is Literal:
        return click.Choice(get_args(kind))
    if issubclass(kind, Enum):
        return _Member(kind)
    if issubclass(kind, PathLike):
        return click.Path(path_type=kind)
    if kind in (int, float) and (how.min is not None or how.max is not None):
        return _WholeRange(_whole(how.min), _whole(how.max)) if kind is int else _Range(how.min, how.max)
    if kind in (int, float):
        return _WholeNumber() if kind is int else _AnyNumber()
    return cast("click.ParamType[Any]", click.types.convert_type(kind))


def _whole(limit: float | None) -> int | None:
    return None if limit is None else int(limit)


class _Number(click.ParamType[Any]):
    """A number within limits, if it has some. Click's own messages speak of types and of inequalities."""

    kind: type[int] | type[float] = float

    def limits(self) -> tuple[float | None, float | None]:
        return None, None

    def convert(self, value: Any, param: click.Parameter | None, ctx: click.Context | None) -> Any:
        try:
            number = self.kind(value)
        except ValueError:
            self.fail(f"{value!r} is not a {'whole ' if self.kind is int else ''}number", param, ctx)
        least, most = self.limits()
        if least is not None and not number >= least:
            self.fail(f"{value} is too small; write at least {least:g}", param, ctx)
        if most is not None and not number <= most:
            self.fail(f"{value} is too large; write at most {most:g}", param, ctx)
        return number


class _AnyNumber(_Number, click.types.FloatParamType):
    """Such as 0.5."""


class _WholeNumber(_Number, click.types.IntParamType):
    kind = int


class _Range(_Number, click.FloatRange):
    """With limits, which the help shows."""

    def limits(self) -> tuple[float | None, float | None]:
        return self.min, self.max


class _WholeRange(_Number, click.IntRange):
    kind = int

    def limits(self) -> tuple[float | None, float | None]:
        return self.min, self.max


class _Member(click.Choice[str]):
    """A member of an enumeration, written as its value."""

    def __init__(self, kind: type[Enum]) -> None:
        super().__init__([member.value for member in kind])
        self._kind = kind

    def convert(self, value: Any, param: click.Parameter | None, ctx: click.Context | None) -> Any:
        return value if isinstance(value, self._kind) else self._kind(super().convert(value, param, ctx))


def _completer(how: Parameter) -> Callable[[click.Context, click.Parameter, str], "list[CompletionItem]"]:
    def offered(ctx: click.Context, _param: click.Parameter, incomplete: str) -> "list[CompletionItem]":
        from dovetail.cli.terminal.completion import offers

        return offers(ctx, how, incomplete)

    return offered


def _callback(how: Parameter, several: bool, default: Any) -> Callable[[click.Context, click.Parameter, Any], Any]:
    def checked(_ctx: click.Context, _param: click.Parameter, value: Any) -> Any:
        if several:
            value = list(value) if value else default
        return value if how.callback is None else how.callback(value)

    return checked
