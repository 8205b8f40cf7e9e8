"""Looking inside: NaNs, prints in compiled code, profiles, memory.

Public names only.
"""
