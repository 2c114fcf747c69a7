"""The study ``bumps``; see ``study.py``."""
