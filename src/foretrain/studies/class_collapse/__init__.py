"""The study ``class-collapse``; see ``study.py``."""
