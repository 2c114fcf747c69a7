"""The study ``cross-entropy``; see ``study.py``."""
