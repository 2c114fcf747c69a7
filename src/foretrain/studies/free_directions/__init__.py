"""The study ``free-directions``; see ``study.py``."""
