"""SPSS, Stata and SAS files as R's haven reads them."""

from __future__ import annotations

import json
import os
import shutil
import subprocess
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import Any

import pytest

_CODE = r"""
library(haven)
given <- commandArgs(trailingOnly = TRUE)
found <- switch(given[1],
  sav = read_sav(given[2], user_na = TRUE), dta = read_dta(given[2]),
  por = read_por(given[2]), xpt = read_xpt(given[2]), sas7bdat = read_sas(given[2])
)
shown <- function(x) if (is.numeric(x)) sprintf("%.17g", x) else as.character(x)
many <- function(x) I(as.character(x))
described <- lapply(found, function(x) {
  labels <- attr(x, "labels")
  letters <- if (is.double(x)) na_tag(unclass(x)) else rep(NA_character_, length(x))
  plain <- zap_labels(unclass(x))
  attributes(plain) <- NULL
  moments <- if (inherits(x, "Date")) format(x, "%Y-%m-%d") else
    if (inherits(x, "POSIXct")) format(x, "%Y-%m-%dT%H:%M:%S", tz = "UTC") else NULL
  cells <- if (is.null(moments)) shown(plain) else moments
  cells[is.na(plain)] <- NA
  tags <- if (is.double(labels)) na_tag(unclass(labels)) else rep(NA, length(labels))
  list(
    class = many(class(x)), cells = many(cells), letters = many(letters),
    label = attr(x, "label", exact = TRUE), format = attr(x, paste0("format.", given[3])),
    labels = many(shown(unclass(labels))), label_letters = many(tags),
    names = many(names(labels)), codes = many(shown(attr(x, "na_values"))),
    range = many(shown(attr(x, "na_range")))
  )
})
text <- jsonlite::toJSON(described, na = "null", null = "null", auto_unbox = TRUE)
writeLines(enc2utf8(text), useBytes = TRUE)
"""
_PROGRAMS = {"sav": "spss", "por": "spss", "dta": "stata", "xpt": "sas", "sas7bdat": "sas"}


@dataclass(frozen=True)
class HavenColumn:
    """A column as haven reads it.

    Parameters
    ----------
    classes
        R's classes of it, such as ``Date``.
    cells
        Its values: numbers, texts, and moments as ISO texts; None where missing.
    letters
        The letter of each value that is missing with one, else None.
    label, format
        Its label, and the program's display format.
    labels
        The labels of its values, in the file's order; letters stand for values that are missing.
    codes, range
        The values that are declared missing, and the ends of a range of such values.
    """

    classes: tuple[str, ...]
    cells: tuple[Any, ...]
    letters: tuple[str | None, ...]
    label: str | None
    format: str | None
    labels: dict[Any, str]
    codes: tuple[Any, ...]
    range: tuple[Any, ...]


@cache
def _is_installed() -> bool:
    if shutil.which("Rscript") is None:
        return False
    asked = 'stopifnot(requireNamespace("haven"), requireNamespace("jsonlite"))'
    return not subprocess.run(["Rscript", "-e", asked], capture_output=True, check=False).returncode


def read_by_haven(path: Path) -> dict[str, HavenColumn]:
    """Return the columns of a file, which its ending says the program of; skip without haven."""
    if not _is_installed():
        pytest.skip("R with haven and jsonlite is not installed")
    form = path.suffix[1:]
    run = subprocess.run(
        ["Rscript", "--vanilla", "-e", _CODE, form, str(path), _PROGRAMS[form]],
        capture_output=True,
        check=False,
        timeout=120,
        # In another locale R alters the letters of its own code.
        env={**os.environ, "LC_ALL": "C.UTF-8"},
    )
    assert run.returncode == 0, run.stderr.decode()
    return {name: _column(each) for name, each in json.loads(run.stdout).items()}


def _column(told: dict[str, Any]) -> HavenColumn:
    are_numbers = {"character", "Date", "POSIXct"}.isdisjoint(told["class"])

    def value(text: str | None) -> Any:
        return float(text) if text and are_numbers else text or None

    values = [
        letter or value(text)
        for text, letter in zip(told["labels"], told["label_letters"], strict=True)
    ]
    return HavenColumn(
        classes=tuple(told["class"]),
        cells=tuple(map(value, told["cells"])),
        letters=tuple(told["letters"]),
        label=told["label"],
        format=told["format"],
        labels=dict(zip(values, told["names"], strict=True)),
        codes=tuple(map(value, told["codes"])),
        range=tuple(map(value, told["range"])),
    )
