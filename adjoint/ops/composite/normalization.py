"""Normalisation, attention and dropout's arithmetic."""
