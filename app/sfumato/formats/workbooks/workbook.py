"""What a workbook tells of its sheets, whatever program made it."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Protocol

from sfumato.formats.options import ReadOptions
from sfumato.formats.workbooks.blocks import RowBlock
from sfumato.formats.workbooks.cells import Layout, Progress, Row, Sheet


class Workbook(Protocol):
    """An open workbook."""

    @property
    def sheets(self) -> tuple[Sheet, ...]:
        """Its sheets that hold cells."""

    def layout(self, sheet: Sheet, options: ReadOptions) -> Layout:
        """Return what a sheet hides and merges.

        Raises
        ------
        FileError
            As `rows` does.
        """

    def rows(
        self, sheet: Sheet, options: ReadOptions, report: Progress
    ) -> Iterator[Row] | Iterator[Row | RowBlock]:
        """Yield a sheet's rows, some together; those that nothing stands in may be left out.

        Raises
        ------
        TooLarge
            If the sheet, or the texts of all sheets, unpack to more than the options allow.
        DamagedFile
            If the file is no whole workbook.
        """
