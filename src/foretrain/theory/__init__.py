"""Theories: equations in NumPy and SciPy, float64 in and out, each module with the paper or the page that derives it.

One rule of arguments and shapes holds in all modules:

- The state or the `start` comes first, then `times`, or `learning_rate` and `steps`, then the system (a reduction, a
  training set, singular values), then options. A start of several arrays is one tuple.
- `flow(start, times, ...)` is a gradient flow, `descent(start, learning_rate, steps, ...)` are Euler steps of it, and
  `flow_until(start, until, ...)` integrates until something has happened. All give states of the kind that `start` is, with
  a leading axis (time,) or (stored step,); the start is stored, and every `every`-th step. Only where a state is huge, what
  is read off it is given instead, as the docstring says.
- `steps` is a number of steps, `step` an array of numbers of steps, `times` an array of continuous times, step x learning
  rate.
- Names, the same everywhere and explained here alone: `learning_rate` eta > 0, `weight_decay` lambda >= 0, `init_scale`
  sigma > 0, `steps` >= 0, `every` the stride of what is stored, `times` from 0, not decreasing, `singular_values` S and
  `input_variances` D of shape (mode,), a number where a function takes one mode, `trained_pairs` T of zeros and ones,
  (input domain, output domain), `domains` M, `operation` and `training` (..., sample) of booleans, `statistics`,
  `reduction` and `factors` of the network at hand.
- The masked rank-one model starts from the triple u(0), v(0), s(0); the rank-one factorisation from four numbers.
- An argument outside its range, or of another shape, raises `ArgumentError`.

Modules:

- Routing and the pathway race: `race`, `race_parts`, `race_planes`, `race_routes`, `race_schemes`, `connectivity`,
  `frustration`, `tangent_kernel`, `large_steps`, `spectral`, `attention_ladder`.
- Gated deep linear networks: `reduction`, `reduced_dynamics`, `joint_diagonalization`, `exact_flow`, `gated_landscape`,
  `start_signs`, `exclusive_or`, `rectified_start`.
- Two-layer linear networks and factorisations: `deep_linear`, `factorization_flow`, `first_target`,
  `rank_one`, `rank_one_plateau`, `softmax_curve`, `published_rules`.
- The masked rank-one model: `masked_rank_one`, `masked_rank_one_end`, `masked_rank_one_escape`, `random_matrix`.
- Grokking: `parallelograms`, `effective_loss`, `grokking_time`, `ridge`, `lazy_perceptron`.
- Learning coefficients that are known: `aoyagi`, `landscapes`, `reduced_rank`.
- Shared by others: `integration`, `roots`.
"""

from foretrain.lazy import modules

__getattr__, __dir__, __all__ = modules(__name__, __file__)
