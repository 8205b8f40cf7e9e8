"""Picking and placing: index_select, sort, topk, one_hot, masked and reduced scatters, searches."""
