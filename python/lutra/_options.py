# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Options as keyword arguments, and solvers made with them."""

from __future__ import annotations

import logging
from typing import Any, Callable, NamedTuple

import numpy as np

from . import _core
from ._arrays import Csr


def _text(name: str, value: Any) -> str:
    """The value of an option in the format of the library."""
    if isinstance(value, (bool, np.bool_)):
        return str(bool(value)).lower()
    if isinstance(value, (str, int, float, np.integer, np.floating)):
        return str(value)
    raise TypeError(f"{name}: a name, a number, True or False is wanted, not {type(value).__name__}")


class OptionTexts(NamedTuple):
    """Options in the format of the library."""

    named: list[tuple[str, str]]
    order: list[int]  # a permutation of the user, or empty


def option_texts(options: dict[str, Any]) -> OptionTexts:
    """Options given as keyword arguments; None leaves the default."""
    given = {name: value for name, value in options.items() if value is not None}
    order = [int(column) for column in given.pop("user_permutation", ())]
    return OptionTexts([(name, _text(name, value)) for name, value in given.items()], order)


class Event(NamedTuple):
    """What happened in a call of a solver."""

    kind: str  # "call begins", "call ends", "stage begins", "stage ends", "choice" or "escalation"
    name: str  # of a call or a stage; what is chosen, or "why" for a reason
    text: str  # the value chosen, the reason, or the escalation
    seconds: float  # ends: since the begin; otherwise since the begin of the call
    bytes: int  # stages: held by the solver now
    peak_bytes: int  # and the most so far

    def __str__(self) -> str:
        if self.kind == "escalation":
            return f"escalation: {self.text}"
        if self.kind == "choice":
            return f"{self.name}: {self.text}"
        return f"{self.name} {self.kind.split()[1]}" + (f" after {self.seconds:.3g} s" if "ends" in self.kind else "")


def _observer(log: Any) -> Callable[..., None]:
    """The function that the library calls for each event: it calls a function, or writes to a logging.Logger."""
    if isinstance(log, logging.Logger):
        levels = {"escalation": logging.WARNING, "choice": logging.INFO}

        def write(*told: Any) -> None:
            event = Event(*told)
            log.log(levels.get(event.kind, logging.DEBUG), "%s", event)

        return write
    if callable(log):
        return lambda *told: log(Event(*told))
    raise TypeError(f"log: a function or a logging.Logger is wanted, not {type(log).__name__}")


def make_solver(method: str, A: Csr, options: dict[str, Any], kind: Any = _core.Solver) -> Any:
    """A solver, or a batch, for matrices like A. The option `log` is a function of an Event, or a Logger."""
    log = options.get("log")
    given = {name: value for name, value in options.items() if name != "log"}
    named, order = option_texts(given) if given else OptionTexts([], [])
    if log is None:
        return kind(method, A.scalar, A.ordinal, named, order)
    return kind(method, A.scalar, A.ordinal, named, order, _observer(log))


def lists_options(listed: str) -> Callable[[Any], Any]:
    """A decorator that adds options to a docstring, a line each as the library lists them."""

    def add(function: Any) -> Any:
        lines = listed.splitlines()
        function.__doc__ += "\n    Options:\n" + "".join(f"      {line}\n" for line in lines)
        return function

    return add
