"""The study ``context``; see ``study.py``."""
