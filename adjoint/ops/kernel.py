"""The kernel level: ranges, indices, loads, stores and control, as records."""
