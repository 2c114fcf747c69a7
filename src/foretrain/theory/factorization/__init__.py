"""Factorisations, whole and masked."""
