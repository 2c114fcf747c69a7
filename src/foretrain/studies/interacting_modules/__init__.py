"""The study ``interacting-modules``; see ``study.py``."""
