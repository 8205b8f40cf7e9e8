"""Graphs over a mesh: the sharding of every value, and the graph that one member runs.

In: a graph with SHARD nodes and sharded leaves. Out: the sharding of each node (`propagate`), and
one local graph for all members with explicit collectives (`partition`). May not: run anything.
"""
