"""Products: dot, outer, tensordot, einsum, kron, cross and their kin, all made of CONTRACT."""
