"""Elementwise functions made of primitives: clamp, lerp, square, sinc, logit and their kin."""
