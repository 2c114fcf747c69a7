"""Forecasts of theory for a network and data that the user brings."""
