"""Predict how a network will learn, then watch it happen.

``foretrain.run("routing", domains=7)`` predicts, trains and judges; ``foretrain.open(path)`` reads results again. The
pieces are in ``foretrain.graph``, ``tasks``, ``networks``, ``theory``, ``dynamics`` and ``measures``.
"""

import importlib

__version__ = "0.1.0"

_WHERE = {
    "run": ("foretrain.laboratory.conduct", "run"),
    "sweep": ("foretrain.laboratory.conduct", "sweep"),
    "open": ("foretrain.results.result", "open_result"),
    "predict": ("foretrain.forecast.predict", "predict"),
    "rank": ("foretrain.forecast.predict", "rank"),
}

__all__ = ["__version__", "open", "predict", "rank", "run", "sweep"]


def __getattr__(name):
    """Import what is asked for when it is asked for, so that the command line answers at once."""
    if name not in _WHERE:
        raise AttributeError(f"module 'foretrain' has no attribute '{name}'")
    module, attribute = _WHERE[name]
    return getattr(importlib.import_module(module), attribute)
