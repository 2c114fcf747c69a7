"""The study ``critical-fraction``; see ``study.py``."""
