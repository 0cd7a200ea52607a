#!/usr/bin/env bash
# patito 0.8.6: an income that is no number is valid where incomes are at least 0.
#
# A bound is checked by Polars' comparison, in which NaN is greater than every number: it is at least 0, and not at most
# 120. Whether a value that could not be computed is found depends on which bound is stated. pydantic, by which the same
# model checks a single person, refuses NaN for either.
#
# Seen: NaN with ge=0 is valid, with le=120 not; as a single person neither is.
. "$(dirname "${BASH_SOURCE[0]}")/common.sh"
python_with patito==0.8.6 polars==2.1.0 pydantic==2.14.4 <<'P'
import patito as pt
import polars as pl


class AtLeast(pt.Model):
    """Somebody with an income of at least 0."""

    income: float = pt.Field(ge=0)


class AtMost(pt.Model):
    """Somebody with an income of at most 120."""

    income: float = pt.Field(le=120)


def valid(check):
    """Whether a check raises nothing."""
    try:
        check()
    except (pt.exceptions.DataFrameValidationError, ValueError):
        return False
    return True


NAN = float("nan")
tables = [valid(lambda: model.validate(pl.DataFrame({"income": [NAN]}))) for model in (AtLeast, AtMost)]
people = [valid(lambda: model(income=NAN)) for model in (AtLeast, AtMost)]
print(tables, people)
assert (tables, people) == ([True, False], [False, False])
P
