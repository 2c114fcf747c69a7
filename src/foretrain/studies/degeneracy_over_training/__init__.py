"""The study ``degeneracy-over-training``; see ``study.py``."""
