"""The study ``one-mode``; see ``study.py``."""
