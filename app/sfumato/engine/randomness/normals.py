"""Normal numbers from words of a generator: the same on every machine, to the last bit.

The ziggurat of Marsaglia and Tsang (J. Stat. Softw. 5(8), 2000) in Doornik's form (2005). The
area under the normal density is cut into 1,024 layers of equal area; a layer and a place in it
are drawn, and 99.7 % of the places lie under the density whatever its exact course, which costs
two table look-ups. An inverse of the distribution function is slower by a factor of four and
needs a logarithm, whose last bit differs from one mathematics library to the next. Here only
additions, multiplications, divisions and square roots decide what is returned, and all of them
are rounded correctly everywhere. (Whether a place in the thin rim of a layer lies under the
density is decided with an exponential; its last bit matters once in about 1e17 draws.)
"""

from __future__ import annotations

from decimal import Decimal, localcontext
from functools import cache
from typing import Final

import numpy as np

from sfumato.engine.core.frozen import dataclass
from sfumato.engine.core.values import Flags, Floats, Indices, Integers, Words

Rows = Indices

LAYERS: Final = 1024
RIGHT_END: Final = "4.03884984610950452271442340533593070454183"
"""Where the lowest layer's rectangle ends, for 1,024 layers of equal area."""

_DIGITS: Final = 40
_LAYER_MASK: Final = np.uint64(LAYERS - 1)
_PLACE_SHIFT: Final = 10
_PLACE_UNIT: Final = 2.0**-53


@dataclass(frozen=True)
class Layers:
    """The layers, lowest first.

    Parameters
    ----------
    width
        How wide each layer is, in units of the places that a word can name, shape (1024,).
    inner
        Up to where a layer lies wholly under the density: the next layer's width, shape (1024,).
    low, high
        The density, without its constant, where a layer ends and where the next one does.
    """

    width: Floats
    inner: Floats
    low: Floats
    high: Floats


@cache
def layers() -> Layers:
    """Return the layers, computed with 40 decimal digits."""
    with localcontext() as context:
        context.prec = _DIGITS
        end = Decimal(RIGHT_END)
        area = end * _density(end) + _tail(end)
        edges = [area / _density(end), end]
        for _ in range(LAYERS - 2):
            edges.append((-2 * (area / edges[-1] + _density(edges[-1])).ln()).sqrt())
        edges.append(Decimal(0))
        heights = [_density(edge) for edge in edges]
    ends = np.array([float(edge) for edge in edges])
    density = np.array([float(height) for height in heights])
    return Layers(ends[:-1] * _PLACE_UNIT, ends[1:].copy(), density[:-1].copy(), density[1:].copy())


def _density(place: Decimal) -> Decimal:
    return (-place * place / 2).exp()


def _tail(start: Decimal) -> Decimal:
    """Return the area right of `start`: the density times a continued fraction (Laplace)."""
    fraction = start
    for term in range(400, 0, -1):
        fraction = start + Decimal(term) / fraction
    return _density(start) / fraction


class Ziggurat:
    """Buffers that turn words into normal numbers, for one thread.

    Parameters
    ----------
    capacity
        The largest number of words at once.
    """

    def __init__(self, capacity: int) -> None:
        self._layers = layers()
        self._layer = np.empty(capacity, dtype=np.uint64)
        self._place = np.empty(capacity, dtype=np.int64)
        self._bound = np.empty(capacity)
        self._size = np.empty(capacity)
        self._outside = np.empty(capacity, dtype=np.bool_)

    def normals(self, words: Words, out: Floats) -> Rows:
        """Turn words into normal numbers where that is certain; return the rows where it is not.

        Parameters
        ----------
        words
            Fair words of 64 bits, shape (k,).
        out
            Room for the numbers, shape (k,). In the rows that are returned it holds the place
            that was drawn, which still has to be accepted (`accepted`).
        """
        count = len(words)
        layer, place = self._layer[:count], self._place[:count]
        bound, size, outside = self._bound[:count], self._size[:count], self._outside[:count]
        np.bitwise_and(words, _LAYER_MASK, out=layer)
        # An odd number of 54 bits with its sign: no place is 0, and both sides are alike.
        np.right_shift(words.view(np.int64), _PLACE_SHIFT, out=place)
        np.bitwise_or(place, 1, out=place)
        positions = layer.view(np.int64)
        self._layers.width.take(positions, out=bound, mode="clip")
        np.multiply(place, bound, out=out)
        self._layers.inner.take(positions, out=bound, mode="clip")
        np.abs(out, out=size)
        np.greater_equal(size, bound, out=outside)
        return outside.nonzero()[0]


def layer_of(words: Words) -> Integers:
    """Return the layer that each word names."""
    return (words & _LAYER_MASK).view(np.int64)


def below_density(layer: Integers, place: Floats, words: Words) -> Flags:
    """Tell which places in the rims of their layers lie below the density.

    Parameters
    ----------
    layer
        The layers, shape (k,); in the lowest one the answer means nothing.
    place
        Where in them, shape (k,).
    words
        Fair words that choose the heights, shape (k,).
    """
    known = layers()
    low, high = known.low[layer], known.high[layer]
    height = low + _uniforms(words) * (high - low)
    return height < np.exp(-0.5 * place * place)


def tail_places(first: Words, second: Words) -> tuple[Floats, Flags]:
    """Return places beyond the lowest rectangle, and which of them are accepted (Marsaglia).

    Parameters
    ----------
    first, second
        Fair words, shape (k,).
    """
    end = float(RIGHT_END)
    beyond = -logarithms(_uniforms(first)) / end
    height = -logarithms(_uniforms(second))
    return end + beyond, 2.0 * height > beyond * beyond


def _uniforms(words: Words) -> Floats:
    """Return numbers strictly between 0 and 1: odd multiples of 2^-53."""
    return (((words >> np.uint64(11)) | np.uint64(1)).astype(np.float64)) * _PLACE_UNIT


def logarithms(numbers: Floats) -> Floats:
    """Return natural logarithms by elementary operations, alike on every machine.

    With m·2^e the number, m in [√½, √2): ln m is 2·artanh((m − 1)/(m + 1)), whose series ends
    after 12 terms. The error is a few units in the last place.
    """
    mantissa, exponent = np.frexp(numbers)
    small = mantissa < 0.7071067811865476
    mantissa = np.where(small, 2.0 * mantissa, mantissa)
    exponent = exponent - small
    ratio = (mantissa - 1.0) / (mantissa + 1.0)
    square = ratio * ratio
    series = np.full_like(ratio, 1.0 / 23.0)
    for odd in range(21, 0, -2):
        series = series * square + 1.0 / odd
    return 2.0 * ratio * series + exponent * 0.6931471805599453
