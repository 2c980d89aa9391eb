# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Objects that hold memory of the library until they are closed."""

from __future__ import annotations

from types import TracebackType
from typing import TypeVar

Self = TypeVar("Self", bound="Closing")


class Closing:
    """Base class of context managers that `close` at the end of the `with` block."""

    def close(self) -> None:
        """Frees the factors. Further calls raise ValueError."""
        raise NotImplementedError

    def __enter__(self: Self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.close()
