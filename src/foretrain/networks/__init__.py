"""What learns: parameters and a forward pass, in JAX."""
