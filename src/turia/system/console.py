"""Long work on a screen: a progress bar on a terminal, plain lines elsewhere. Used by the command line alone."""

from __future__ import annotations

import sys
from types import TracebackType

from rich.console import Console
from rich.progress import BarColumn, Progress, TextColumn, TimeElapsedColumn


class Display:
    """Shows how far a piece of work is. Everything goes to standard error: standard output is for results."""

    def __init__(self, title: str) -> None:
        self.title = title
        self.console = Console(file=sys.stderr)
        self.bar: Progress | None = None
        if self.console.is_terminal:
            self.bar = Progress(
                TextColumn("{task.fields[title]}"),
                BarColumn(),
                TextColumn("{task.percentage:5.1f} %"),
                TextColumn("{task.description}"),
                TimeElapsedColumn(),
                console=self.console,
            )
            self.task = self.bar.add_task("", total=1.0, title=title)

    def __enter__(self) -> Display:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        if self.bar is not None:
            self.bar.stop()

    def update(self, share: float, detail: str) -> None:
        """`share` of the work is done, 0 to 1."""
        self._show_bar()
        if self.bar is not None:
            self.bar.update(self.task, completed=share, description=detail)
        else:
            self.say(f"{self.title} {share:6.1%} {detail}")

    def say(self, line: str) -> None:
        """A line that stays."""
        self._show_bar()
        self.console.print(line, markup=False, highlight=False, soft_wrap=True)

    def _show_bar(self) -> None:
        """Shows the bar with the first news, not before: of several processes of one command, only one has news."""
        if self.bar is not None:
            self.bar.start()
