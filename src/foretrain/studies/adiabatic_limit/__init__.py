"""The study ``adiabatic-limit``; see ``study.py``."""
