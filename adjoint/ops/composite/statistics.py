"""Reductions and scans made of primitives: sums with a dtype, means, variances, quantiles, softmax."""
