"""Everything the author of a study needs, from one place: ``from foretrain.study import parameter, Program, sentence``.

See `foretrain.plans.study` for what a study may define, and the page "A study of your own" of the documentation.
"""

from importlib import import_module
from typing import TYPE_CHECKING

from foretrain.claims.sentence import Sentence, sentence
from foretrain.dynamics.program import (
    CONVERGED,
    DIVERGED,
    FAILED,
    OUT_OF_STEPS,
    RUNNING,
    STALLED,
    Program,
)
from foretrain.errors import argument_error
from foretrain.plans.blocks import Run, Training
from foretrain.plans.define import define
from foretrain.plans.grid import Grid
from foretrain.plans.parameters import default, parameter
from foretrain.plans.study import Study
from foretrain.quantities.learning_time import crossing_time, half_learning_times
from foretrain.quantities.measured import Exact, PerSeed
from foretrain.quantities.trajectory import at_end
from foretrain.streams import Seed, generator, key, normals
from foretrain.vocabulary import Variable, alike, declare

if TYPE_CHECKING:
    from foretrain.degeneracy.posterior import behavioural, posterior
    from foretrain.degeneracy.sampling import Sampling
    from foretrain.figures import Drawing

__all__ = [
    "CONVERGED",
    "DIVERGED",
    "FAILED",
    "OUT_OF_STEPS",
    "RUNNING",
    "STALLED",
    "Drawing",
    "Exact",
    "Grid",
    "PerSeed",
    "Program",
    "Run",
    "Sampling",
    "Seed",
    "Sentence",
    "Study",
    "Training",
    "Variable",
    "alike",
    "argument_error",
    "at_end",
    "behavioural",
    "crossing_time",
    "declare",
    "default",
    "define",
    "generator",
    "half_learning_times",
    "key",
    "normals",
    "parameter",
    "posterior",
    "sentence",
]


_LATER = {  # what few studies need, and what is slow to import
    "Drawing": "foretrain.figures",
    "Sampling": "foretrain.degeneracy.sampling",
    "behavioural": "foretrain.degeneracy.posterior",
    "posterior": "foretrain.degeneracy.posterior",
}


def __getattr__(name: str):
    """A name that is imported when it is first asked for."""
    if name not in _LATER:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    return getattr(import_module(_LATER[name]), name)
