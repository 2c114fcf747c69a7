"""Degeneracy: what of a network is free, and the basis in which the rest is visible; any network, in JAX and NumPy.

The same everywhere, and explained here alone: `network` is a `Network` of L sections, `x` its inputs (example, d_0), `budget`
the bytes that a block may take, `basis` and `graph` those of the network, `posterior` with its `pull` gamma, `seed` of all
draws, `activation` the name of a nonlinearity (`nonlinearities`), `at` the number of a section, `layer` that of a layer, the
inputs being layer 0, `matrices` the Gram matrices of the same network and data, where they are at hand. An argument outside
its range, or of another shape, raises `ArgumentError`.

Begin with one of these:

- `foretrain.analyze`: all of it for one network, or over training.
- `function.function_of`: parameters and a function of them as a `function.Function`.
- `jacobian_spectrum.jacobian_spectrum` and `unit_costs.quadrature`: what directions cost.
- `free_directions.free_directions` and `sources.sources`: which are free, and why.
- `effective_parameters.sampled_parameters`: what directions cost where the loss is not quadratic, and learning coefficients.
- `interaction_basis.interaction_basis`, `interaction_graph.interaction_graph`, `rewiring.modules`: how the rest is wired.

Modules:

- A network: `function`, `network`, `transformer`, `noise_scale`.
- Costs and free directions: `unit_costs`, `jacobian_spectrum`, `free_directions`, `conditional`, `synchronization`,
  `sources`.
- Interactions: `interaction_basis`, `interaction_graph`, `modularity`, `rewiring`, and all of it at one scale: `wiring`.
- Posteriors, sampled: `posterior`, `effective_parameters`, `sampled_trust`, `hamiltonian`, `chains`, `noise`, and as the
  work of a study's run: `sampling`.
- Shared by others: `derivatives`, `folded`, `grams`, `jacobian_rows`, `moments`, `nonlinearities`.
"""

from foretrain.lazy import modules

__getattr__, __dir__, __all__ = modules(__name__, __file__)
