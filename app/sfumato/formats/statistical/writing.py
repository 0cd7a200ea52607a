"""Tables as files of statistical packages."""

from __future__ import annotations

import errno
import os
import unicodedata
from abc import abstractmethod
from collections.abc import Callable, Mapping, Sequence
from dataclasses import field
from functools import partial
from pathlib import Path
from typing import Any, ClassVar, Final

import numpy as np
import pandas as pd
import pyarrow as pa
import pyarrow.compute as pc

from sfumato.engine.core.columns import Value
from sfumato.engine.core.frozen import dataclass
from sfumato.engine.core.periods import Period, begins_of
from sfumato.engine.core.progress import Context, Part, Silent
from sfumato.engine.core.values import factorize, plain
from sfumato.engine.core.wording import Sentence
from sfumato.engine.table.table import Table
from sfumato.formats.columns.arrays import ArrowColumn
from sfumato.formats.errors import BeyondFormat, DamagedFile, grouped
from sfumato.formats.files import digest_of
from sfumato.formats.statistical.dates import numbers_of
from sfumato.formats.statistical.reading import LibraryProcess, Package, StatisticalFormat
from sfumato.formats.statistical.reasons import rejoined
from sfumato.formats.table_format import Rows, WrittenFile, in_order


@dataclass(frozen=True)
class NameRules:
    """What a package allows in the name of a variable.

    Parameters
    ----------
    longest
        The most bytes.
    others
        The characters allowed beside letters, digits and the underscore.
    reserved
        The words that are no names, in lower case.
    folds_case
        Whether names that differ in case only are the same.
    """

    longest: int
    others: str
    reserved: frozenset[str]
    folds_case: bool

    def fit(self, names: Sequence[str]) -> dict[str, str]:
        """Return a name the package allows for each name.

        What is not allowed becomes an underscore, a name that begins with something else than
        a letter gets a ``v`` before it, and names that fall together are numbered.
        """
        fitted: dict[str, str] = {}
        taken: set[str] = set()
        proper = [name for name in names if self._clean(name) == name]
        for name in (*proper, *(name for name in names if name not in set(proper))):
            candidate = self._clean(name)
            number = 1
            while self._key(candidate) in taken:
                number += 1
                ending = f"_{number}"
                candidate = _cut(self._clean(name), self.longest - len(ending)) + ending
            taken.add(self._key(candidate))
            fitted[name] = candidate
        return {name: fitted[name] for name in names}

    def _key(self, name: str) -> str:
        return name.lower() if self.folds_case else name

    def _clean(self, name: str) -> str:
        text = unicodedata.normalize("NFC", name)
        kept = "".join(c if c.isalnum() or c == "_" or c in self.others else "_" for c in text)
        kept = kept.rstrip(self.others)
        if not kept or not kept[0].isalpha() or kept.lower() in self.reserved:
            kept = f"v{kept}"
        return _cut(kept, self.longest).rstrip(self.others)


@dataclass(frozen=True)
class WriteRules:
    """What a package's files can hold.

    Parameters
    ----------
    names
        See `NameRules`.
    longest_text
        The most bytes of a text.
    longest_label, longest_value_label
        The most bytes of the label of a column, and of a value.
    keeps_trailing_blanks
        Whether blanks at the end of a text are kept.
    labels_text
        Whether the values of a text column can have labels.
    largest_integer
        The largest number, up or down, that is stored as a whole number; 0 if none is.
    whole_format, decimal_format, date_format, moment_format
        The display formats of whole and decimal numbers, dates, and dates with a time.
    missing_letters
        Whether values that are missing with a reason are letters; else they are declared codes.
    period_formats
        Those of coarse dates, where the package has one.
    time_formats
        Those of times of day: to the minute, to the second, and with up to three digits more.
    """

    names: NameRules
    longest_text: int
    longest_label: int
    longest_value_label: int
    keeps_trailing_blanks: bool
    labels_text: bool
    largest_integer: int
    whole_format: str
    decimal_format: str
    date_format: str
    moment_format: str
    missing_letters: bool
    period_formats: Mapping[Period, str]
    time_formats: Sequence[str]


def _cut(text: str, longest: int) -> str:
    """Return a text cut to so many bytes, between characters."""
    return text.encode()[:longest].decode(errors="ignore")


_EXACT: Final = 2**53
_LARGEST: Final = 8.9e307
"""From here on Stata takes numbers for missing values."""
_TRUTH_LABELS: Final = {0: "false", 1: "true"}

WriteFunction = Callable[..., None]


class WritableFormat(StatisticalFormat):
    """Files of a package that the library writes, too."""

    can_write = True
    rules: ClassVar[WriteRules]
    writer: ClassVar[str]
    """The name of the library's function that writes them."""
    settings: ClassVar[Mapping[str, Any]]
    """What it is told beside the table."""

    def names_in_file(self, columns: tuple[str, ...]) -> dict[str, str]:
        """Return a name that the package allows for each column."""
        return self.rules.names.fit(columns)

    def write(self, table: Table, path: Path, context: Context, order: Rows = None) -> WrittenFile:
        """Write a table, with the same bytes at any time; see `write_statistical`.

        The library writes by itself, and the time in the file is replaced: its digest is of what
        is read again.
        """
        import pyreadstat  # noqa: PLC0415

        table = in_order(table, order, Part(context, 0.0, 0.3), path.parent)
        write_data = partial(getattr(pyreadstat, self.writer), **self.settings)
        rest = Part(context, 0.3, 1.0)
        losses = write_statistical(table, path, write_data, self.rules, self.package, rest)
        self.finish(path, table.rows)
        return WrittenFile(digest_of(path, Silent()), losses)

    @abstractmethod
    def finish(self, path: Path, rows: int) -> None:
        """Set the time of writing to one that is always the same.

        Raises
        ------
        OSError
            If the file was not written as a whole.
        """


@dataclass
class _Written:
    """A column as the library gets it."""

    series: pd.Series
    shown: str | None
    label: str | None
    value_labels: dict[Any, str]
    missing: list[Any] = field(default_factory=list)


def write_statistical(
    table: Table,
    path: Path,
    write_data: WriteFunction,
    rules: WriteRules,
    package: Package,
    context: Context,
) -> tuple[Sentence, ...]:
    """Write a table as a file of a statistical package.

    The library does not always notice when the disk takes no more, so each format then examines
    whether the file is whole.

    Where another column says why values are missing, these have the codes of their reasons, as
    the package declares them.

    Names that the package does not allow are changed as `NameRules.fit` says, and the old name
    becomes the column's label unless it has one. Yes/no values become 0 and 1 with the labels
    "false" and "true". A missing text becomes an empty one, which is read as missing.

    Parameters
    ----------
    table, path, context
        What to write, and where.
    write_data
        The library's function.
    rules, package
        What the package's files can hold, and how they store dates.

    Returns
    -------
    tuple of Sentence
        What the file doesn't hold of the table, each told once.

    Raises
    ------
    OSError
        If the disk does not take the whole file.
    BeyondFormat
        If a column holds values that the files can't hold exactly.
    """
    names = rules.names.fit(table.columns)
    columns = {}
    losses: list[Sentence] = []
    for name in table.columns:
        source = ArrowColumn(name, table.frame[name])
        maker = _Maker(source, package, rules, table.periods.get(name))
        column = maker.make(table.value_labels.get(name, {}))
        _rejoin(column, table, name, maker)
        label = table.column_labels.get(name) or (name if names[name] != name else None)
        column.label = maker.cut(label, rules.longest_label) if label else None
        columns[names[name]] = column
        losses += maker.losses
    _write(columns, path, write_data, package, rules, context)
    context.report(1.0, "Finishing the file")
    return tuple(dict.fromkeys(losses))


def _write(
    columns: Mapping[str, _Written],
    path: Path,
    write_data: WriteFunction,
    package: Package,
    rules: WriteRules,
    context: Context,
) -> None:
    """Let the library write the columns."""
    from pyreadstat import PyreadstatError, ReadstatError  # noqa: PLC0415

    from sfumato.formats.statistical.watched_frame import watched  # noqa: PLC0415

    frame = pd.DataFrame({name: column.series for name, column in columns.items()}, copy=False)
    missing = "missing_user_values" if rules.missing_letters else "missing_ranges"
    failure = ""
    try:
        write_data(
            watched(frame, context),
            path,
            column_labels=[column.label for column in columns.values()],
            variable_value_labels={
                name: column.value_labels for name, column in columns.items() if column.value_labels
            },
            variable_format={name: c.shown for name, c in columns.items() if c.shown},
            **{missing: {name: c.missing for name, c in columns.items() if c.missing}},
        )
    except (ReadstatError, PyreadstatError) as error:
        failure = str(error)  # May quote values: it is looked at, and not passed on.
    if "write" in failure.lower():
        raise not_whole()
    if failure:
        raise BeyondFormat(
            "The table can't be written as a {title} file.",
            "Write it as CSV or Parquet.",
            title=package.title,
        )


def _rejoin(column: _Written, table: Table, name: str, maker: _Maker) -> None:
    """Give missing values the codes of their reasons again, where the table tells these."""
    found = rejoined(table, name, column.series, maker.rules.missing_letters)
    if found is None:
        return
    column.series, column.missing = found.series, found.declared
    longest = maker.rules.longest_value_label
    labels = {code: maker.cut(text, longest) for code, text in found.labels.items()}
    column.value_labels = {**column.value_labels, **labels}


def not_whole() -> OSError:
    """Return the error for a file of which a part is missing after it was written."""
    # The library does not say why; a disk that takes a file's beginning only is a full one.
    return OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))


class _Maker:
    """Turns one column into what the library writes."""

    def __init__(
        self,
        source: ArrowColumn,
        package: Package,
        rules: WriteRules,
        period: Period | None = None,
    ) -> None:
        self._period = period
        self._source = source
        self._title = package.title
        self.rules = rules
        self._moments = package.moments
        self._package = package
        self.losses: list[Sentence] = []

    def make(self, labels: Mapping[Value, str]) -> _Written:
        periods = self._periods()
        if periods is not None:
            return periods
        kind = self._source.type
        if kind == pa.string():
            return self._texts(labels)
        if pa.types.is_boolean(kind):
            numbers = self._plain().astype("Int8")
            return _Written(numbers, self.rules.whole_format, None, dict(_TRUTH_LABELS))
        if pa.types.is_timestamp(kind):
            return self._dates()
        if pa.types.is_floating(kind):
            return self._decimals(labels)
        return self._whole_numbers(labels)

    def _periods(self) -> _Written | None:
        """Return periods as the first moment of each, in the package's own format.

        None where it has no format for them, or a value is something else, as a star is.
        """
        if self._period is None:
            return None
        positions, uniques = factorize(self._source.series)
        values = [plain(value) for value in uniques]
        if self._period is Period.TIME:
            shown = self._time_format({len(str(value)) for value in values})
        else:
            shown = self.rules.period_formats.get(self._period)
        display = None if shown is None else self._package.display(shown)
        begins = None if display is None else begins_of(values, self._period)
        if display is None or begins is None:
            return None
        numbers = numbers_of(begins, display, self._package.moments.origin)
        if np.isnan(numbers).any():
            return None
        return _Written(pd.Series(np.append(numbers, np.nan)[positions]), shown, None, {})

    def _time_format(self, lengths: set[int]) -> str | None:
        """Return the format of times whose texts are of one length; None where there is none."""
        places = {5: 0, 8: 1, 10: 2, 11: 3, 12: 4}
        place = places.get(lengths.pop()) if len(lengths) == 1 else None
        return None if place is None else self.rules.time_formats[place]

    def cut(self, text: str, longest: int) -> str:
        """Return a label no longer than the package allows."""
        cut = _cut(text, longest)
        if cut != text:
            told = (
                "Labels of {column} are cut to the {longest} {longest:byte|bytes} that {title}"
                " allows."
            )
            self._lose(told, longest=longest)
        return cut

    def _lose(self, told: str, **details: object) -> None:
        self.losses.append(Sentence(told, column=self._source.name, title=self._title, **details))

    def _plain(self) -> pd.Series:
        """Return the column's values, also where they are kept as categories."""
        series = self._source.series
        if self._source.categories is None:
            return series
        distinct = pd.Series(self._source.categories)
        positions = series.cat.codes.to_numpy()
        return distinct.reindex(np.where(positions < 0, len(distinct), positions)).reset_index(
            drop=True
        )

    def _texts(self, labels: Mapping[Value, str]) -> _Written:
        texts = pa.array(self._source.values.dropna().to_list(), type=pa.string())
        longest = self.rules.longest_text
        self._refuse(
            pc.greater(pc.binary_length(texts), longest),
            f"texts of more than {grouped(longest)} bytes",
        )
        self._refuse(pc.match_substring(texts, "\0"), "texts with a NUL character")
        if not self.rules.keeps_trailing_blanks:
            self._refuse(pc.ends_with(texts, " "), "texts that end in blanks")
        if pc.any(pc.equal(texts, "")).as_py():
            self._lose(
                "Empty texts of {column} are missing values here: {title} can't tell them apart."
            )
        if labels and not self.rules.labels_text:
            self._leave_labels_out(len(labels))
            labels = {}
        return _Written(self._source.series, None, None, self._cut_labels(labels, str))

    def _dates(self) -> _Written:
        moments = self._plain().to_numpy()
        finer = moments != moments.astype("datetime64[ms]")
        self._refuse(finer & ~np.isnat(moments), "times finer than a millisecond")
        dates = bool((moments == moments.astype("datetime64[D]"))[~np.isnat(moments)].all())
        numbers = self._moments.encode(moments, dates=dates)
        shown = self.rules.date_format if dates else self.rules.moment_format
        return _Written(pd.Series(numbers), shown, None, {})

    def _decimals(self, labels: Mapping[Value, str]) -> _Written:
        numbers = self._plain().to_numpy(dtype=np.float64, na_value=np.nan)
        self._refuse(np.abs(numbers) > _LARGEST, "infinite or very large numbers")
        return _Written(
            pd.Series(numbers), self.rules.decimal_format, None, self._labels_of_numbers(labels)
        )

    def _whole_numbers(self, labels: Mapping[Value, str]) -> _Written:
        series = self._plain()
        known = series.dropna()
        largest = max(int(known.max()), -int(known.min())) if len(known) else 0
        if largest > _EXACT:
            raise self._beyond("whole numbers beyond 9 007 199 254 740 992")
        if largest <= self.rules.largest_integer:
            return _Written(series.astype("Int32"), None, None, self._cut_labels(labels, int))
        numbers = series.to_numpy(dtype=np.float64, na_value=np.nan)
        shown = self.rules.whole_format
        return _Written(pd.Series(numbers), shown, None, self._labels_of_numbers(labels))

    def _labels_of_numbers(self, labels: Mapping[Value, str]) -> dict[Any, str]:
        """Return the labels of numbers that are stored as decimals."""
        if self.rules.labels_text:
            return self._cut_labels(labels, float)
        largest = self.rules.largest_integer
        fitting: dict[Value, str] = {
            value: text
            for value, text in labels.items()
            if not isinstance(value, str | None) and value % 1 == 0 and abs(value) <= largest
        }
        if len(fitting) < len(labels):
            self._leave_labels_out(len(labels) - len(fitting))
        return self._cut_labels(fitting, int)

    def _leave_labels_out(self, count: int) -> None:
        told = (
            "{count} {count:label|labels} of {column} {count:is|are} left out: {title} labels"
            " whole numbers only."
        )
        self._lose(told, count=count)

    def _cut_labels(
        self, labels: Mapping[Value, str], kind: Callable[[Any], Any]
    ) -> dict[Any, str]:
        """Return the labels with their values as the file stores them."""
        longest = self.rules.longest_value_label
        return {
            kind(value): self.cut(text, longest)
            for value, text in labels.items()
            if value is not None and isinstance(value, str) == (kind is str)
        }

    def _refuse(self, found: Any, what: str) -> None:
        """Refuse a column in which a value was found that the file can't hold."""
        mask = np.asarray(found)
        if mask.any():
            raise self._beyond(what)

    def _beyond(self, what: str) -> BeyondFormat:
        return BeyondFormat(
            "Column {column} holds " + what + ", which {title} files can't hold exactly.",
            "Write the table as CSV or Parquet, or change the column.",
            column=self._source.name,
            title=self._title,
        )


def holds_rows(path: Path, package: Package, rows: int) -> bool:
    """Whether a file that was just written holds so many rows, down to the last."""
    try:
        with LibraryProcess(path, package.reader, package.title) as library:
            batch, _ = library.call(
                Silent(), row_offset=rows - 1, row_limit=1, disable_datetime_conversion=True
            )
    except DamagedFile:
        return False
    return bool(batch.num_rows == 1)
