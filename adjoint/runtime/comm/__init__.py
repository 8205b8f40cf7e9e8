"""Members that run one program, and the collectives between them.

In: arrays of each member. Out: arrays of each member, joined in one order with every library. May
not: know what a mesh, a sharding or a graph is.
"""
