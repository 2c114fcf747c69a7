"""Gated and deep linear networks, and their reduction."""
