"""Dtype conversions by name."""
