"""Pooling, unpooling, resizing, folding."""
