"""Posteriors around given parameters, sampled."""
