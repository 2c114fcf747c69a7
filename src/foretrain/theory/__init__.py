"""Theories: equations in NumPy and SciPy, float64 in and out."""
