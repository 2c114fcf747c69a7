"""Predict how a network will learn, then watch it happen.

``foretrain.run("routing", domains=7)`` predicts, trains and judges; ``foretrain.open(path)`` reads results again;
``foretrain.train(program, ...)`` trains any program without a study. Everything the author of a study needs is in
``foretrain.study``; the pieces are in ``foretrain.graph``, ``tasks``, ``networks``, ``theory``, ``dynamics``, ``quantities``.
"""

import importlib
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from foretrain.forecast.predict import predict, rank
    from foretrain.laboratory.conduct import rebuild, run, sweep
    from foretrain.laboratory.opened import opened as open
    from foretrain.laboratory.train import train

__version__ = "0.1.0"

_WHERE = {
    "run": ("foretrain.laboratory.conduct", "run"),
    "rebuild": ("foretrain.laboratory.conduct", "rebuild"),
    "sweep": ("foretrain.laboratory.conduct", "sweep"),
    "train": ("foretrain.laboratory.train", "train"),
    "open": ("foretrain.laboratory.opened", "opened"),
    "predict": ("foretrain.forecast.predict", "predict"),
    "rank": ("foretrain.forecast.predict", "rank"),
}

__all__ = ["__version__", "open", "predict", "rank", "rebuild", "run", "sweep", "train"]


def __getattr__(name):
    """Import what is asked for when it is asked for, so that the command line answers at once."""
    if name not in _WHERE:
        raise AttributeError(f"module 'foretrain' has no attribute '{name}'")
    module, attribute = _WHERE[name]
    return getattr(importlib.import_module(module), attribute)


def __dir__():
    """What there is to use."""
    return sorted(__all__)
