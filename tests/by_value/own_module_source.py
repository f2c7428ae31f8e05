"""The text of a module of the user's that tests import as `own`, see conftest."""

from __future__ import annotations

SOURCE = """
import functools
from os.path import join
limit = 1

def twice(x):
    return 2 * x

def thrice(x):
    return 3 * x

def limited(x):
    return min(twice(x), limit)

def joined():
    return join("a", "b")

class Scale:
    factor = 1

    def of(self, x):
        return self.factor * x

    @property
    def doubled(self):
        return 2 * self.factor

def solved(x):
    return x * solved.step
solved.step = 1

class Single(type):
    made = {}
    def __call__(cls):
        return cls.made.setdefault(cls, None) or cls.made.update({cls: super().__call__()}) or cls.made[cls]

class Settings(metaclass=Single):
    level = 1
    def __init__(self):
        self.debug = False

def debugged():
    return Settings().debug

def bare(function):
    def inner(x):
        return function(x), limit
    return inner

@bare
@bare
def decorated(x):
    return x + limit

below = bare(lambda x: limit - x)

def adder(n):
    return lambda x: x + n + limit

add = adder(3)

def noting(function):
    seen = []
    def inner(x):
        return function(x), len(seen)
    return inner

def scaled(factor):
    def decorate(function):
        @functools.wraps(function)
        def inner(x):
            return factor * function(x)
        return inner
    return decorate

@scaled(3)
def wrapped(x):
    return x + 1

def made(n):
    class Made:
        number = n
    return Made

Made = made(1)

def all_of(x):
    return add(x), decorated(x), wrapped(x), Made.number
"""
