"""The study ``deep-linear-coefficients``; see ``study.py``."""
