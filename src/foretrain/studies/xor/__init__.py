"""The study ``xor``; see ``study.py``."""
