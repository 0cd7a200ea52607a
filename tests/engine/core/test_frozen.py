"""Frozen dataclasses behave as the library's, whose decorator they stand for."""

from __future__ import annotations

import copy
import dataclasses
import pickle
from collections.abc import Callable
from dataclasses import FrozenInstanceError, field
from functools import cached_property, partial
from typing import Any, ClassVar

import pytest

from sfumato.engine.core.frozen import dataclass

Decorator = Callable[..., Any]


def both(declare: Callable[[Decorator], Any]) -> tuple[Any, Any]:
    """Return what a declaration comes to with the library's decorator and with ours."""
    return declare(dataclasses.dataclass), declare(dataclass)


def ward(decorator: Decorator) -> type:
    @decorator(frozen=True)
    class Ward:
        name: str
        beds: int = 4
        notes: list[str] = field(default_factory=list, repr=False)
        seen: int = field(default=0, compare=False)
        code: str = field(default="W", init=False)
        marks: list[int] = field(default_factory=lambda: [1], init=False)
        kind: ClassVar[str] = "ward"

        def __post_init__(self) -> None:
            if self.beds < 0:
                raise ValueError("beds")

        @cached_property
        def doubled(self) -> int:
            return 2 * self.beds

    return Ward


def told(ward: Any) -> list[Any]:
    """Return what a class and its objects answer, whoever made it."""
    one, other, more = ward("A"), ward(name="A", seen=3), ward("A", 5, notes=["x"])
    return [
        str(one).rpartition(".")[2],
        one == other,
        one == more,
        one == "A",
        one.doubled,
        one.notes is not other.notes,
        more.marks,
        more.code,
        dataclasses.asdict(more),
        [each.name for each in dataclasses.fields(ward)],
        dataclasses.replace(more, name="B").notes,
        copy.deepcopy(more) == more,
        ward.__match_args__,
        ward.beds,
        hasattr(ward, "name"),
        ward.__init__.__name__,
        ward.__eq__.__qualname__.endswith("Ward.__eq__"),
    ]


def test_objects_are_made_shown_compared_and_replaced_as_the_librarys():
    theirs, ours = both(ward)
    assert told(ours) == told(theirs)
    assert repr(ours("A", 5)) == repr(theirs("A", 5))


@pytest.mark.parametrize(
    "wrong",
    [
        lambda made: made(),
        lambda made: made("A", 1, [], 2, 3),
        lambda made: made("A", bed=3),
        lambda made: made("A", -1),
        lambda made: hash(made("A")),
        lambda made: setattr(made("A"), "beds", 3),
        lambda made: setattr(made("A"), "more", 3),
        lambda made: delattr(made("A"), "beds"),
        lambda made: dataclasses.replace(made("A"), code="X"),
    ],
)
def test_what_the_library_refuses_is_refused_in_the_same_words(wrong):
    said = []
    for made in both(ward):
        with pytest.raises((TypeError, ValueError, FrozenInstanceError)) as refused:
            wrong(made)
        said.append((refused.type, str(refused.value).replace("ward.<locals>.", "")))
    assert said[0] == said[1]


@pytest.mark.parametrize("count", [0, 1, 3])
def test_objects_of_any_number_of_fields_are_hashed_by_them(count):
    def declare(decorator: Decorator) -> type:
        names = "abc"[:count]
        return decorator(frozen=True)(
            type("Some", (), {"__annotations__": dict.fromkeys(names, "int")})
        )

    theirs, ours = both(declare)
    values = range(count)
    assert hash(ours(*values)) == hash(theirs(*values)) == hash(ours(*values))
    assert ours(*values) == ours(*values) != theirs(*values)


def subclasses(decorator: Decorator) -> tuple[type, type, type]:
    @decorator(frozen=True, kw_only=True)
    class Base:
        size: int = 1

    @decorator(frozen=True)
    class Named(Base):
        name: str

        def __eq__(self, other: object) -> bool:
            return isinstance(other, Named) and other.name == self.name

        def __hash__(self) -> int:
            return 7

        def __repr__(self) -> str:
            return self.name

    class Plain(Named):
        def __init__(self, name: str) -> None:
            super().__init__(name, size=3)
            self.more = 1

    return Base, Named, Plain


def test_classes_inherit_fields_and_keep_the_methods_that_they_define():
    for base, named, plain in both(subclasses):
        one = named("n", size=2)
        assert (one.size, repr(one), hash(one)) == (2, "n", 7)
        assert one == named("n")
        assert base(size=3) == base(size=3)
        more = plain("p")
        more.more = 2
        assert (more.size, more.more, more.name) == (3, 2, "p")
        with pytest.raises(FrozenInstanceError):
            more.size = 4
        with pytest.raises(TypeError):
            base(3)


def test_objects_that_are_not_compared_by_their_fields_are_themselves_alone():
    def declare(decorator: Decorator) -> type:
        @decorator(frozen=True, eq=False)
        class Held:
            values: list[int]

        return Held

    for made in both(declare):
        one = made([1])
        assert one == one
        assert one != made([1])
        assert len({one, made([1])}) == 2


@dataclass(frozen=True)
class Node:
    """At the top of a module, so that it can be pickled."""

    name: str
    below: list[Node] = field(default_factory=list, compare=False)


def test_objects_are_pickled_and_may_hold_themselves():
    node = Node("a")
    node.below.append(node)
    assert pickle.loads(pickle.dumps(node)) == node
    assert repr(node) == "Node(name='a', below=[...])"


def test_a_class_that_can_be_changed_is_the_librarys():
    @dataclass
    class Count:
        number: int = 0

    count = Count()
    count.number = 3
    assert count == Count(3)
    assert repr(partial(Count, 3)()).endswith("Count(number=3)")
