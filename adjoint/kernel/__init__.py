"""From one fused group of nodes to a loop program.

In: a group. Out: `LoopProgram`: kernel-level nodes in execution order, in basic arithmetic only.
May not: choose what is fused, know a language or a machine's instructions, or run anything.
"""
