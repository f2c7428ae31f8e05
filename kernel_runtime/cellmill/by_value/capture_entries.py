"""Kinds of entries of captured state: how each is compared, see csched/python/capture.h."""

ITEM, CELL, ATTRIBUTE, EQUAL, LIST, DICT, ITERABLE, BUFFER, ARRAY, CALL = range(10)
