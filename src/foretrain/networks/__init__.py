"""Networks: parameters and a forward pass, in JAX; the host draws starts by NumPy.

The same everywhere, and explained here alone: `weights` are the parameters, a pytree, `generator` or `key` the source of
randomness, `domains` M, `hidden_width` >= 1, `input_size` and `output_size` those of a domain, `dimension` n, `trained_pairs`
T of zeros and ones, (input domain, output domain), in the dtype of the weights, `output_modes` U (output, mode) and
`input_modes` V (input, mode), `graph` the gates and widths of a gated network, whose weights map the name of an edge to an
array (target width, source width). An argument outside its range, or of another shape, raises `ArgumentError`.

Modules:

- Routing: `routing`, `routing_start`, `modular_routing`, `image_routing`, `translation`.
- Gated networks, linear paths and perceptrons: `gated`, `linear_paths`, `perceptron`.
- Factorisations: `factorization`, `factorization_rows`, `factorization_start`, `masked_rank_one`.
- Symbols: `embedding`, `transformer`.
- Shared by others: `drawn`, `singular_values`.
"""

from foretrain.lazy import modules

__getattr__, __dir__, __all__ = modules(__name__, __file__)
