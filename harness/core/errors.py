# SPDX-License-Identifier: GPL-2.0
"""The exception that the user sees as one line."""

from collections.abc import Sequence


class UserError(Exception):
    """A failure that the user can act on.

    Its text is one line that says what to do. `shown` holds lines to print before it.
    """

    def __init__(self, text: str, shown: Sequence[str] = ()) -> None:
        super().__init__(text)
        self.shown = shown
