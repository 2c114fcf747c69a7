"""What learns: parameters and a forward pass, in JAX; starts are drawn on the host by NumPy.

Modules:

- Routing: `routing`, `routing_start`, `modular_routing`, `image_routing`, `translation`.
- Gated networks and perceptrons: `gated`, `rectified`, `perceptron`.
- Factorisations: `factorization`, `factorization_rows`, `factorization_start`, `masked_rank_one`.
- Symbols: `embedding`, `transformer`.
- Shared by others: `drawn`.
"""

from foretrain.lazy import modules

__getattr__, __dir__, __all__ = modules(__name__, __file__)
