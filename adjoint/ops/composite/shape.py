"""Shapes: views, splits, joins, repeats, paddings, diagonals; all made of movement ops."""
