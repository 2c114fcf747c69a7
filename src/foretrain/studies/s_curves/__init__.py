"""The study ``s-curves``; see ``study.py``."""
