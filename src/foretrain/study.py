"""Everything the author of a study needs, from one place: ``from foretrain.study import parameter, Program, claim``.

See `foretrain.plans.study` for what a study may define, and the page "A study of your own" of the documentation. A name is
imported when it is asked for: a file of claims needs neither SciPy nor xarray until it is judged.
"""

from typing import TYPE_CHECKING

from foretrain.lazy import lazy

if TYPE_CHECKING:
    from foretrain.arithmetic import float_type as float_type
    from foretrain.claims.sentence import Sentence as Sentence
    from foretrain.claims.sentence import claim as claim
    from foretrain.degeneracy.sampled.posterior import behavioural as behavioural
    from foretrain.degeneracy.sampled.posterior import posterior as posterior
    from foretrain.degeneracy.sampled.sampling import Sampling as Sampling
    from foretrain.dynamics.program import CONVERGED as CONVERGED
    from foretrain.dynamics.program import DIVERGED as DIVERGED
    from foretrain.dynamics.program import FAILED as FAILED
    from foretrain.dynamics.program import OUT_OF_STEPS as OUT_OF_STEPS
    from foretrain.dynamics.program import RUNNING as RUNNING
    from foretrain.dynamics.program import STALLED as STALLED
    from foretrain.dynamics.program import Program as Program
    from foretrain.errors import argument_error as argument_error
    from foretrain.figures import Drawing as Drawing
    from foretrain.plans.blocks import DescentOrFlow as DescentOrFlow
    from foretrain.plans.blocks import Run as Run
    from foretrain.plans.blocks import Training as Training
    from foretrain.plans.define import define as define
    from foretrain.plans.grid import Grid as Grid
    from foretrain.plans.parameters import choice as choice
    from foretrain.plans.parameters import default as default
    from foretrain.plans.parameters import parameter as parameter
    from foretrain.plans.parameters import size as size
    from foretrain.plans.study import Study as Study
    from foretrain.quantities.learning_curves.learning_time import crossing_time as crossing_time
    from foretrain.quantities.learning_curves.learning_time import (
        half_learning_times as half_learning_times,
    )
    from foretrain.quantities.measured import Exact as Exact
    from foretrain.quantities.measured import NotApplicable as NotApplicable
    from foretrain.quantities.measured import PerSeed as PerSeed
    from foretrain.quantities.measured import skip_if as skip_if
    from foretrain.quantities.panels import drawn as drawn
    from foretrain.quantities.panels import figure as figure
    from foretrain.quantities.panels import panel as panel
    from foretrain.quantities.readers import crossing as crossing
    from foretrain.quantities.readers import half_time as half_time
    from foretrain.quantities.readers import larger_first as larger_first
    from foretrain.quantities.readers import relative_gap as relative_gap
    from foretrain.quantities.readers import slope as slope
    from foretrain.quantities.trajectory import at_end as at_end
    from foretrain.streams import Seed as Seed
    from foretrain.streams import generator as generator
    from foretrain.streams import key as key
    from foretrain.streams import normals as normals
    from foretrain.tasks.data_files import data as data
    from foretrain.vocabulary import TIME_UNIT as TIME_UNIT
    from foretrain.vocabulary import declare as declare

__getattr__, __dir__, __all__ = lazy(__name__, __file__)
