"""The study ``image-routing``; see ``study.py``."""
