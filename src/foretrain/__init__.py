# ruff: noqa: F401  (names are offered, not used)
"""Predict how a network will learn, then watch it happen.

``foretrain.run("routing", domains=7)`` predicts, trains and judges; ``foretrain.open(path)`` reads results again;
``foretrain.train(program, ...)`` trains any program without a study. Every verb of the command line is a function here of
the same name, but for ``show``, which is `open`, and ``report``, which is `rebuild`; what they return prints itself.
Everything the author of a study needs is in ``foretrain.study``; the pieces are in ``foretrain.graph``, ``tasks``,
``networks``, ``theory``, ``dynamics``, ``quantities``.
"""

from typing import TYPE_CHECKING

from foretrain.lazy import lazy

if TYPE_CHECKING:
    from foretrain.analyze.analyze import analyze as analyze
    from foretrain.explain.explain import explain as explain
    from foretrain.laboratory.check import check as check
    from foretrain.laboratory.compare import compare as compare
    from foretrain.laboratory.conduct import rebuild as rebuild
    from foretrain.laboratory.conduct import run as run
    from foretrain.laboratory.conduct import sweep as sweep
    from foretrain.laboratory.info import info as info
    from foretrain.laboratory.listing import cite as cite
    from foretrain.laboratory.listing import list_studies as list
    from foretrain.laboratory.listing import write_template as new
    from foretrain.laboratory.opened import opened as open
    from foretrain.laboratory.train import train as train
    from foretrain.predict.predict import predict as predict
    from foretrain.predict.predict import rank as rank
    from foretrain.results.export import export_folder as export

__version__ = "0.1.0"
__getattr__, __dir__, __all__ = lazy(__name__, __file__)
