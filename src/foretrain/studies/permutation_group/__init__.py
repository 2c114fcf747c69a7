"""The study ``permutation-group``; see ``study.py``."""
