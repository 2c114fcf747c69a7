"""The study ``parallelograms``; see ``study.py``."""
