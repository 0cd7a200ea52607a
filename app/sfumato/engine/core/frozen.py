"""Frozen dataclasses that are made in a tenth of the time.

The standard library compiles six methods of each frozen dataclass when its module is imported. A
command imports some 350 of them, which took a fifth of the processor time of a small one. Here
``__init__`` is compiled when the first object is made, and the other methods are closures over
the names of the fields. Everything else is the library's: its `field`, `fields`, `replace` and
`asdict` work as ever, and a type checker sees its decorator.
"""

from __future__ import annotations

import dataclasses
from collections.abc import Callable
from operator import attrgetter
from reprlib import recursive_repr
from typing import TYPE_CHECKING, Any, Final

if TYPE_CHECKING:
    from dataclasses import dataclass as dataclass  # noqa: PLC0414 (lent to all)
else:

    def dataclass(cls: type | None = None, /, *, frozen: bool = False, **options: Any) -> Any:
        """Make a class a dataclass, as `dataclasses.dataclass` does.

        Parameters
        ----------
        cls
            The class; None where the decorator is called with options.
        frozen
            Whether objects can't be changed. The library makes the classes where they can.
        options
            ``eq`` and ``kw_only``. Fields of the kind ``InitVar`` are not known here.
        """
        if not frozen:
            return dataclasses.dataclass(cls, **options)
        return lambda cls: _made(cls, **options)


_MISSING: Final = dataclasses.MISSING
_Init = Callable[..., None]


def _made(cls: type, *, eq: bool = True, kw_only: bool = False) -> type:
    """Return the class with its fields and its methods, but for those that it defines itself."""
    defined = {name for name in cls.__dict__ if name != "__hash__"}
    if cls.__dict__.get("__hash__") is not None or (
        "__hash__" in cls.__dict__ and "__eq__" not in defined
    ):
        defined.add("__hash__")
    cls.__doc__ = cls.__doc__ or cls.__name__  # or its signature would be looked up
    dataclasses.dataclass(init=False, repr=False, eq=False, kw_only=kw_only)(cls)
    known = dataclasses.fields(cls)
    methods: dict[str, Callable[..., Any]] = {
        "__init__": _init_when_called(cls),
        "__repr__": _repr_of([each.name for each in known if each.repr]),
    }
    if eq:
        methods |= _comparing([each.name for each in known if each.compare])
    for name, method in methods.items():
        if name not in defined:
            _adopt(cls, name, method)
    for name, method in _refusing(cls, frozenset(each.name for each in known)).items():
        _adopt(cls, name, method)
    return cls


def _adopt(cls: type, name: str, method: Callable[..., Any]) -> None:
    method.__name__, method.__qualname__ = name, f"{cls.__qualname__}.{name}"
    setattr(cls, name, method)


def _init_when_called(cls: type) -> _Init:
    def first(self: object, *args: Any, **named: Any) -> None:
        method = _init_of(cls)
        _adopt(cls, "__init__", method)
        method(self, *args, **named)

    return first


def _init_of(cls: type) -> _Init:
    """Return the compiled ``__init__``, whose parameters are the fields."""
    known: dict[str, Any] = {"_set": object.__setattr__, "_missing": _MISSING}
    positional, named, body = ["self"], list[str](), list[str]()
    for each in dataclasses.fields(cls):
        name, value, parameter = each.name, each.name, each.name
        if each.default_factory is not _MISSING:
            known[f"_make_{name}"] = each.default_factory
            parameter = f"{name}=_missing"
            value = f"_make_{name}() if {name} is _missing else {name}"
            value = value if each.init else f"_make_{name}()"
        elif each.default is not _MISSING:
            known[f"_default_{name}"] = each.default
            parameter = f"{name}=_default_{name}"
            if not each.init:
                continue  # the class holds it
        elif not each.init:
            continue
        if each.init:
            (named if each.kw_only else positional).append(parameter)
        body.append(f"    _set(self, {name!r}, {value})")
    if hasattr(cls, "__post_init__"):
        body.append("    self.__post_init__()")
    parameters = ", ".join([*positional, *(["*", *named] if named else [])])
    source = "\n".join([f"def __init__({parameters}):", *(body or ["    pass"])])
    exec(source, known)
    method: _Init = known["__init__"]
    return method


def _repr_of(names: list[str]) -> Callable[..., str]:
    @recursive_repr()
    def shown(self: object) -> str:
        told = ", ".join(f"{name}={getattr(self, name)!r}" for name in names)
        return f"{type(self).__qualname__}({told})"

    return shown


def _comparing(names: list[str]) -> dict[str, Callable[..., Any]]:
    """Return what compares objects of one class, and hashes them, by some of their fields."""
    values: Callable[[object], Any]
    if len(names) > 1:
        values = attrgetter(*names)
    else:

        def values(one: object) -> tuple[object, ...]:
            return tuple(getattr(one, name) for name in names)

    def equals(self: object, other: object) -> Any:
        if type(other) is not type(self):
            return NotImplemented
        return values(self) == values(other)

    def hashed(self: object) -> int:
        return hash(values(self))

    return {"__eq__": equals, "__hash__": hashed}


def _refusing(cls: type[Any], names: frozenset[str]) -> dict[str, Callable[..., None]]:
    """Return what refuses to change a field; a subclass that is no dataclass may have more."""

    def set_(self: object, name: str, value: object) -> None:
        if type(self) is cls or name in names:
            raise dataclasses.FrozenInstanceError(f"cannot assign to field {name!r}")
        super(cls, self).__setattr__(name, value)

    def delete(self: object, name: str) -> None:
        if type(self) is cls or name in names:
            raise dataclasses.FrozenInstanceError(f"cannot delete field {name!r}")
        super(cls, self).__delattr__(name)

    return {"__setattr__": set_, "__delattr__": delete}
