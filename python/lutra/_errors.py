# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Numerical events as exceptions and warnings."""

from __future__ import annotations

import os
import sys
import warnings

from ._core import BatchReport, Report


class SingularMatrixError(ArithmeticError):
    """The matrix is singular. `rows` and `columns`, from 0, are the ones involved."""

    def __init__(self, report: Report) -> None:
        super().__init__(report.describe())
        self.report = report
        self.rows: list[int] = report.singular_rows
        self.columns: list[int] = report.singular_columns


class NotPositiveDefiniteError(ArithmeticError):
    """A Cholesky factorization found a nonpositive pivot in `column`, from 0."""

    def __init__(self, report: Report) -> None:
        super().__init__(report.describe())
        self.report = report
        self.column: int | None = report.indefinite_column


class BreakdownError(ArithmeticError):
    """Factors or solution contain infinity or NaN, or an iteration broke down."""

    def __init__(self, report: Report) -> None:
        super().__init__(report.describe())
        self.report = report


class BatchError(ArithmeticError):
    """Systems of a batch have no solution. `failures` has the status of each by its number, from 0.

    The other systems are not affected: their factors can be used, and an array `out` has their solutions.
    """

    def __init__(self, failures: list[tuple[int, str]], report: BatchReport) -> None:
        super().__init__(describe_failures(failures, report.systems))
        self.failures: dict[int, str] = dict(failures)
        self.report = report


def describe_failures(failures: list[tuple[int, str]], systems: int) -> str:
    """The first failed systems of a batch, and how many there are."""
    shown = ", ".join(f"system {k} is {status.replace('_', ' ')}" for k, status in failures[:5])
    return f"{len(failures)} of {systems} systems: {shown}" + (", …" if len(failures) > 5 else "")


class AccuracyWarning(RuntimeWarning):
    """The error of a solution exceeds the tolerance. The solution is still returned."""


class ConversionWarning(RuntimeWarning):
    """A matrix was converted at a cost that may matter."""


_PACKAGE = os.path.dirname(__file__)


def warn(message: str, category: type[Warning]) -> None:
    """Warns at the line outside this package that called it."""
    frame, level = sys._getframe(1), 2
    while frame.f_back is not None and os.path.dirname(frame.f_code.co_filename) == _PACKAGE:
        frame, level = frame.f_back, level + 1
    warnings.warn(message, category, stacklevel=level)


_ERRORS = {
    "structurally_singular": SingularMatrixError,
    "numerically_singular": SingularMatrixError,
    "not_positive_definite": NotPositiveDefiniteError,
    "breakdown": BreakdownError,
}


def judge(status: str, report: Report, solve_singular: bool = False) -> None:
    """Raises or warns as the status requires. `success`, `unchecked` and `not_solved` do nothing."""
    if status == "numerically_singular" and solve_singular:
        return warn(report.describe(), AccuracyWarning)
    if status in _ERRORS:
        raise _ERRORS[status](report)
    if status == "cancelled":
        raise TimeoutError(report.describe())
    if status in ("error_above_tolerance", "not_converged"):
        warn(report.describe(), AccuracyWarning)
