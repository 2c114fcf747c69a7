"""The study ``optimizers``; see ``study.py``."""
