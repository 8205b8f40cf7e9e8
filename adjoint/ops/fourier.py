"""Discrete Fourier transforms as opaque host ops, and complex parts."""
