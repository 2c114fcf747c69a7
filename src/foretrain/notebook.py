"""Notebooks: is this process the kernel of one, and a line below a cell that is redrawn in place."""

import sys
from collections.abc import Callable
from html import escape


def is_notebook() -> bool:
    """Return True if this process is the kernel of a notebook, which prints standard error in red."""
    ask = getattr(sys.modules.get("IPython"), "get_ipython", lambda: None)
    return hasattr(ask(), "kernel")


def progress_bar() -> Callable[[str, int, int, str], None]:
    """Lay a bar below the running cell, and return what redraws it by name, part done, whole and text; no name clears it.

    A whole of 0 is not known: the bar only moves. May be called from a thread that has the context of the cell.
    """
    from IPython.display import HTML, display  # pyright: ignore[reportMissingImports]

    shown = display(HTML(""), display_id=True)

    def redraw(name: str, done: int, total: int, text: str) -> None:
        value = f'value="{done}" max="{total}"' if total else ""
        bar = f"<label>{escape(name)} <progress {value}></progress> {escape(text)}</label>"
        shown.update(HTML(bar if name else ""))

    return redraw
