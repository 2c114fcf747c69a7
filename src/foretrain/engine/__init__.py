"""The engine: runs in lanes, lanes in workers, workers under a coordinator that never runs JAX."""
