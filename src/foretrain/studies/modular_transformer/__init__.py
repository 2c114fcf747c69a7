"""The study ``modular-transformer``; see ``study.py``."""
