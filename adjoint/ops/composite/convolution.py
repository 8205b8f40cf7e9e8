"""Convolutions, made of PAD, WINDOW and CONTRACT."""
