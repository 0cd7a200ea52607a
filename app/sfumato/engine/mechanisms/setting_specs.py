"""What can be set for a mechanism beside the levels, each setting described once.

From a description follow the check of a value and its message, the field of the window's form, the
key of a rules file, what `sfumato policy --set` takes, and the line of the help's table.
"""

from __future__ import annotations

import math
import tomllib
from abc import ABC, abstractmethod
from collections.abc import Iterable, Mapping
from contextlib import suppress
from enum import StrEnum
from typing import TYPE_CHECKING, Any, ClassVar, Final, Generic, TypeVar

from sfumato.engine.core.errors import PolicyError, SfumatoError
from sfumato.engine.core.frozen import dataclass
from sfumato.engine.core.values import is_number
from sfumato.engine.core.wording import Sentence, as_sentence
from sfumato.engine.randomness.noisy_statistics import LARGEST_EPSILON, SMALLEST_EPSILON
from sfumato.engine.table.table import MEASURED_UNIT, Attributes, measured_rows

if TYPE_CHECKING:
    from sfumato.engine.randomness.noisy_statistics import KeyedNoise

Choice = TypeVar("Choice", bound=StrEnum)

NOTHING: Final = "none"
"""Takes a setting, or a part of one, away on the command line."""


class SettingSource(StrEnum):
    """Where a setting comes from."""

    CHOSEN = "chosen"
    """A person chooses it, or it is as usual."""
    MEASURED = "measured"
    """A person states it; left out, it is measured in the table, once."""
    MADE = "made"
    """Sfumato makes it from the table and the others. Rules keep it; left out, it is made anew."""
    KEPT = "kept"
    """Made likewise, of what no rules file may tell: a project keeps it, and makes it anew."""
    ELSEWHERE = "elsewhere"
    """Another step of the work writes it, such as adopting a release."""
    IGNORED = "ignored"
    """Earlier versions wrote it; it is not looked at any more."""


@dataclass(frozen=True, kw_only=True)
class SettingSpec(ABC):
    """One setting of a mechanism.

    Parameters
    ----------
    name
        The key in settings, rules files and on the command line.
    title
        Its name in the window.
    gloss
        What it is, as a phrase: "the share of replacements that stay in the chapter".
    hint
        What follows from it, as a sentence below its field in the window.
    usual
        What it is where nothing is said; None where that depends on the table, or is nothing.
    source
        Where it comes from.
    follows
        The settings that it is made from: where one of them changes, it is made anew.
    becomes
        The setting that is kept in its place; empty where it is kept itself.
    """

    name: str
    title: str
    gloss: str
    hint: str = ""
    usual: Any = None
    source: SettingSource = SettingSource.CHOSEN
    follows: tuple[str, ...] = ()
    becomes: str = ""

    @property
    def settable(self) -> bool:
        """Whether a person states it."""
        return self.source in {SettingSource.CHOSEN, SettingSource.MEASURED}

    @property
    def told(self) -> str:
        """What is usual, as it is written; empty where that depends on the table."""
        known = self.usual not in (None, ()) and self.source is SettingSource.CHOSEN
        return f"{self.usual}" if known else ""

    @property
    @abstractmethod
    def expected(self) -> Sentence:
        """What a value is, after "is not": "a number from 0 to 1"."""

    @abstractmethod
    def holds(self, value: object) -> bool:
        """Return whether a plain value is one."""

    def check(self, value: object) -> None:
        """Refuse a value that this setting can't have.

        Raises
        ------
        PolicyError
            Naming the setting, what is expected and what it is for.
        """
        if not self.holds(value):
            raise PolicyError(
                "The setting {name} is not {expected}.",
                "Give a value that fits: {gloss}.",
                name=self.name,
                expected=self.expected,
                gloss=as_sentence(self.gloss),
            )

    def stated(self, settings: Mapping[str, Any]) -> Any:
        """Return what settings say, or what is usual; raises as `check`."""
        value = settings.get(self.name)
        if value is None:
            return self.usual
        self.check(value)
        return value

    def typed(self, text: str) -> Any:
        """Return what a command line says, written as in rules; a text alone needs no quotes.

        Raises
        ------
        PolicyError
            If it is no value of this setting.
        """
        try:
            value = tomllib.loads(f"value = {text}")["value"]
        except tomllib.TOMLDecodeError:
            value = self._plain(text)
        self.check(value)
        return value

    def part_typed(self, part: str, text: str, before: object) -> Any:
        """Return the value with another part: a column's number, the limit of a value.

        Parameters
        ----------
        part
            Which part.
        text
            What it is; None to take it away.
        before
            The value that has been in force.

        Raises
        ------
        PolicyError
            If the setting has no parts, or this is none.
        """
        del text, before
        raise PolicyError(
            "The setting {name} has no parts such as {part}.",
            "Write it as a whole: {name}=VALUE.",
            name=self.name,
            part=part,
        )

    def _plain(self, text: str) -> Any:
        """Return a text that is no TOML as a value."""
        return text


@dataclass(frozen=True, kw_only=True)
class NumberSpec(SettingSpec):
    """A number.

    Parameters
    ----------
    least, most
        The ends of its range.
    above, below
        Whether an end itself is too small, or too large.
    whole
        Whether it is a whole number.
    symbol
        How it is called in formulas.
    decimals, unit, scale, step
        How a field shows it: 0.5 is 50 % with a scale of 100.
    """

    least: float = -math.inf
    most: float = math.inf
    above: bool = False
    below: bool = False
    whole: bool = False
    symbol: str = ""
    decimals: int = 3
    unit: str = ""
    scale: int = 1
    step: float | None = None

    def of_field(self, shown: float) -> float:
        """Return the number that a field shows at the setting's scale."""
        return shown if self.scale == 1 else round(shown / self.scale, 6)

    @property
    def expected(self) -> Sentence:
        """What a value is."""
        ends = {"low": self.least, "high": self.most}
        if self.whole:
            return Sentence("a whole number from {low:g} on", **ends)
        if self.least == -math.inf:
            return Sentence("a number")
        if self.most == math.inf:
            return Sentence(
                "a number above {low:g}" if self.above else "a number from {low:g} on", **ends
            )
        if self.above and self.below:
            return Sentence("a number between {low:g} and {high:g}", **ends)
        if self.above:
            return Sentence("a number above {low:g} and at most {high:g}", **ends)
        return Sentence("a number from {low:g} to {high:g}", **ends)

    def holds(self, value: object) -> bool:
        """Return whether a value is a number in the range."""
        if not is_number(value) or not math.isfinite(value) or (self.whole and value != int(value)):
            return False
        low = value > self.least if self.above else value >= self.least
        return low and (value < self.most if self.below else value <= self.most)


@dataclass(frozen=True, kw_only=True)
class ChoiceSpec(SettingSpec, Generic[Choice]):
    """One of a few words.

    Parameters
    ----------
    titles
        What each of them is called in the window.
    """

    titles: Mapping[Choice, str]

    @property
    def expected(self) -> Sentence:
        """What a value is."""
        return Sentence("one of: {known}", known=", ".join(self.titles))

    def holds(self, value: object) -> bool:
        """Return whether a value is one of the words."""
        return isinstance(value, str) and value in list(self.titles)

    def stated(self, settings: Mapping[str, Any]) -> Choice:
        """Return what settings say, or what is usual."""
        value = super().stated(settings)
        return next((choice for choice in self.titles if choice == value), value)


@dataclass(frozen=True, kw_only=True)
class TextSpec(SettingSpec):
    """A text that is not empty; a number is the text of it."""

    @property
    def expected(self) -> Sentence:
        """What a value is."""
        return Sentence("a text")

    def holds(self, value: object) -> bool:
        """Return whether a value is such a text."""
        return is_number(value) or (isinstance(value, str) and bool(value))

    def typed(self, text: str) -> Any:
        """Return the text, with quotes or without."""
        value = super().typed(text)
        return value if isinstance(value, str) else text


@dataclass(frozen=True, kw_only=True)
class ListSpec(SettingSpec):
    """Several texts, or several numbers from 0 on.

    Parameters
    ----------
    numbers
        Whether they are numbers.
    negative
        Whether numbers may be below 0.
    """

    numbers: bool = False
    negative: bool = False

    @property
    def expected(self) -> Sentence:
        """What a value is."""
        if self.negative:
            return Sentence("a list of numbers")
        return Sentence("a list of numbers from 0 on" if self.numbers else "a list of texts")

    def holds(self, value: object) -> bool:
        """Return whether a value is such a list."""
        if not isinstance(value, list | tuple):
            return False
        if not self.numbers:
            return all(isinstance(each, str) for each in value)
        least = -math.inf if self.negative else 0.0
        return all(is_number(each) and least <= each < math.inf for each in value)

    def _plain(self, text: str) -> Any:
        parts = [part.strip() for part in text.split(",")]
        try:
            return [float(part) for part in parts] if self.numbers else parts
        except ValueError:
            return text


@dataclass(frozen=True, kw_only=True)
class ColumnsSpec(SettingSpec):
    """A number, or a text, for each of some columns."""

    texts: bool = False

    @property
    def expected(self) -> Sentence:
        """What a value is."""
        return Sentence(
            "a table that gives texts to columns"
            if self.texts
            else "a table that gives numbers to columns"
        )

    def holds(self, value: object) -> bool:
        """Return whether a value is such a table."""
        if not isinstance(value, Mapping):
            return False
        if self.texts:
            return bool(value) and all(isinstance(x, str | int | float) for x in value.values())
        return all(is_number(each) and math.isfinite(each) for each in value.values())

    def part_typed(self, part: str, text: str, before: object) -> Any:
        """Return the table with another value of a column."""
        given = {} if not isinstance(before, Mapping) else dict(before)
        if text == NOTHING:
            given.pop(part, None)
            return given
        return {**given, **self.typed(f"{{ {_quoted(part)} = {text} }}")}

    def _plain(self, text: str) -> Any:
        pairs = [part.partition("=") for part in text.split(",")]
        if not self.texts or not all(mark for _, mark, _ in pairs):
            return text
        return {name.strip(): said.strip() for name, _, said in pairs}


@dataclass(frozen=True, kw_only=True)
class TableSpec(SettingSpec):
    """A table with keys of its own, or a list of such tables; its first key tells them apart.

    Parameters
    ----------
    keys
        What stands in a table.
    many
        Whether it is a list of tables.
    may_be_empty
        Whether a table may hold none of its keys, which says that there is nothing.
    """

    keys: tuple[SettingSpec, ...]
    many: bool = True
    may_be_empty: bool = False

    @property
    def expected(self) -> Sentence:
        """What a value is."""
        names = ", ".join(key.name for key in self.keys)
        words = "a list of tables with {keys}" if self.many else "a table with {keys}"
        return Sentence(words, keys=names)

    def holds(self, value: object) -> bool:
        """Return whether a value is such a table, or a list of such tables."""
        if not self.many:
            return self._is_table(value)
        return isinstance(value, list | tuple) and all(map(self._is_table, value))

    def _is_table(self, value: object) -> bool:
        if not isinstance(value, Mapping):
            return False
        if self.may_be_empty and not value:
            return True
        names = {key.name for key in self.keys}
        return value.keys() == names and all(key.holds(value[key.name]) for key in self.keys)

    def part_typed(self, part: str, text: str, before: object) -> Any:
        """Return the tables with another one in the place of that with the same first key.

        Its other keys are given in order, with commas between: ``limits.HIV=0.1,0.3``.
        """
        if not self.many:
            return super().part_typed(part, text, before)
        first, *others = self.keys
        known, rows = first.typed(part), list(before) if isinstance(before, list | tuple) else []
        left = [row for row in rows if row[first.name] != known]
        if text == NOTHING:
            return left
        given = text.split(",")
        if len(given) != len(others):
            raise PolicyError(
                "The setting {name} has {keys} for each {first}, and {text} is something else.",
                "Write them with commas between.",
                name=self.name,
                keys=", ".join(key.name for key in others),
                first=first.name,
                text=text,
            )
        rest = {key.name: key.typed(each) for key, each in zip(others, given, strict=True)}
        return [*left, {first.name: known, **rest}]


@dataclass(frozen=True, kw_only=True)
class UncheckedSpec(SettingSpec):
    """What is checked where it is read, or not looked at."""

    @property
    def expected(self) -> Sentence:
        """What a value is."""
        return Sentence("what it was written as")

    def holds(self, value: object) -> bool:
        """Return whether a value is one: any is."""
        del value
        return True


@dataclass(frozen=True, kw_only=True)
class MatrixSpec(SettingSpec):
    """Rows of numbers; the mechanism says whether they fit the columns."""

    @property
    def expected(self) -> Sentence:
        """What a value is."""
        return Sentence("rows of numbers")

    def holds(self, value: object) -> bool:
        """Return whether a value is a list of lists."""
        return isinstance(value, list | tuple) and all(isinstance(x, list | tuple) for x in value)


def _quoted(name: str) -> str:
    """Return a name as a key of TOML."""
    escaped = name.replace("\\", "\\\\").replace('"', '\\"')
    return f'"{escaped}"'


def epsilon_spec(**told: Any) -> NumberSpec:
    """Describe the privacy loss ε0 of something that is measured with noise."""
    return NumberSpec(symbol="ε0", least=SMALLEST_EPSILON, most=LARGEST_EPSILON, **told)


def measured_unit_spec(follows: tuple[str, ...]) -> TableSpec:
    """Describe whose rows were measured together."""
    columns = ListSpec(name="columns", title="Columns", gloss="the columns that name the unit")
    rows = NumberSpec(
        name="rows",
        title="Rows",
        gloss="how many measured rows belong to a unit at most",
        least=1,
        whole=True,
    )
    return TableSpec(
        name=MEASURED_UNIT,
        title="Unit of what was measured",
        gloss="whose rows were measured, where several belong together",
        source=SettingSource.MADE,
        follows=follows,
        keys=(columns, rows),
        many=False,
    )


class Configured:
    """What has a title and settings."""

    title: ClassVar[str]
    settings: ClassVar[tuple[SettingSpec, ...]] = ()
    """What can be set beside the levels."""

    def setting(self, name: str) -> SettingSpec:
        """Return the description of a setting.

        Raises
        ------
        PolicyError
            If the mechanism has none of this name.
        """
        for spec in self.settings:
            if spec.name == name:
                return spec
        raise PolicyError(
            "{mechanism} has no setting called {name}.",
            "Remove it. Known are: {known}.",
            mechanism=as_sentence(self.title),
            name=name,
            known=", ".join(sorted(spec.name for spec in self.settings)) or "–",
        )

    def check_stated(self, settings: Mapping[str, Any]) -> None:
        """Raise `PolicyError` for a setting that is unknown, or can't have its value."""
        for name, value in settings.items():
            self.setting(name).check(value)

    def changed_settings(
        self, settings: Mapping[str, Any], changes: Mapping[str, Any]
    ) -> dict[str, Any]:
        """Return settings with changes, without what is made from the settings that change."""
        stale = {spec.name for spec in self.settings if not changes.keys().isdisjoint(spec.follows)}
        return {**{name: v for name, v in settings.items() if name not in stale}, **changes}

    def without_measured(self, settings: Mapping[str, Any]) -> dict[str, Any]:
        """Return the settings without what `complete_settings` measures in the table."""
        kept = {SettingSource.CHOSEN, SettingSource.ELSEWHERE}
        gone = {spec.name for spec in self.settings if spec.source not in kept}
        return {name: value for name, value in settings.items() if name not in gone}


class Settled(Configured, ABC):
    """What has settings, some of which the table decides when protection begins."""

    @abstractmethod
    def default_settings(self, attributes: Attributes) -> Mapping[str, Any]:
        """Return what a new policy chooses; `first_settings` completes it from the table."""

    def first_settings(
        self, attributes: Attributes, noise: KeyedNoise, bears: float = math.inf
    ) -> Mapping[str, Any]:
        """Return the settings a new policy starts with, complete, see `settled`.

        Raises
        ------
        PolicyError, LevelError
            If the mechanism can't serve the attributes.
        """
        return self.settled(attributes, self.default_settings(attributes), noise, bears)

    def settled(
        self,
        attributes: Attributes,
        settings: Mapping[str, Any],
        noise: KeyedNoise,
        bears: float,
        stated: Iterable[str] = (),
    ) -> Mapping[str, Any]:
        """Return complete settings, where so much is promised to everybody.

        What is measured of all rows of a unit takes half of the ε that is `bears` at most, if that
        is enough to measure it: the rest is left for released values.

        Parameters
        ----------
        attributes, settings, noise
            As `complete_settings` is given them.
        bears
            The least ε that anyone is promised; infinite where nobody is promised any.
        stated
            The settings that somebody has chosen, which stay.

        Raises
        ------
        PolicyError, LevelError
            If the settings can't be met for these attributes.
        """
        if 0.0 < bears < math.inf:
            _, unit = measured_rows(attributes)
            capped = self.within(attributes, settings, bears / (2.0 * (unit.rows if unit else 1)))
            chosen = {name: settings[name] for name in stated if name in settings}
            with suppress(SfumatoError):
                return self.complete_settings(attributes, {**capped, **chosen}, noise)
        return self.complete_settings(attributes, settings, noise)

    def within(
        self, attributes: Attributes, settings: Mapping[str, Any], most: float
    ) -> Mapping[str, Any]:
        """Return settings whose ε0 for each row is no more than `most`."""
        return settings

    def complete_settings(
        self, attributes: Attributes, settings: Mapping[str, Any], noise: KeyedNoise
    ) -> Mapping[str, Any]:
        """Return the settings with what the table itself decides, once and for all.

        Called where settings are stated, for instance in a rules file, and never again: what it
        adds belongs to the ladder. What recipients can see of it, directly or in what follows from
        it, is made with `noise`, kept, and counted by `byproduct_epsilon`.

        Raises
        ------
        PolicyError, LevelError
            If the settings can't be met for these attributes.
        """
        return settings
