"""What is made on another thread comes as if it were made here."""

import itertools
from collections.abc import Iterator

import pytest

from sfumato.engine.core.parallel import made_ahead


def test_what_is_made_ahead_comes_in_order_and_then_its_error() -> None:
    def items() -> Iterator[int]:
        yield from range(3)
        raise ValueError("the fourth")

    ahead = made_ahead(items())
    assert [next(ahead) for _ in range(3)] == [0, 1, 2]
    with pytest.raises(ValueError, match="the fourth"):
        next(ahead)


def test_nothing_more_is_made_once_it_is_closed() -> None:
    source = itertools.count()
    ahead = made_ahead(source)
    assert [next(ahead) for _ in range(4)] == [0, 1, 2, 3]
    ahead.close()
    assert next(source) <= 6
    assert list(ahead) == []
