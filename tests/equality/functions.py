"""Ways in which a function of a program comes by what it captures, returns it and is made parallel.

In the texts ``$f`` is the function, ``$p`` an expression that reads what it captures, ``$v`` the captured variables
(`names` of them as parameters: ``$d`` gives each itself as its default) and ``$n`` a number.
"""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True)
class Form:
    """``change``: statements that change the function or what only it has; ``how``: "call", "submit" or "batch"."""

    name: str
    text: str
    change: tuple[str, ...] = ()
    how: str = "call"
    variables: bool = False  # it captures by name of a variable, which not all kinds have
    argument: str = ""  # what it has to be given, where not anything


def _helped(parallel: str) -> str:
    return f"def help_$f():\n    return $p\n\n{parallel}\ndef $f(x):\n    return help_$f(), x\n"


_HAS = "class Has_$f:\n    def __init__(self, v):\n        self.v = v\n"
_KEEP = "    def go(self, x):\n        return self.v, $p, x\n"
_OBJECT = ("obj_$f.v.append($n)", "obj_$f.v = [$n]", "Has_$f.go = lambda self, x: ($n, x)")
_ALL = [
    Form("plain", "@parallel\ndef $f(x):\n    return $p, x\n"),
    Form("lambda", "$f = parallel(lambda x: ($p, x))"),
    Form("keywords", "@parallel\ndef $f(x, *more, y=$n, **kw):\n    return $p, x, more, y, kw\n"),
    Form("submitted", "def $f(x):\n    return $p, x\n", how="submit"),
    Form("submitted_lambda", "$f = lambda x: ($p, x)", how="submit"),
    Form("batched", "@parallel(batch=True)\ndef $f(xs):\n    return [($p, x) for x in xs]\n", how="batch"),
    Form(
        "closure",
        "def make_$f($v):\n    @parallel\n    def $f(x):\n        return $p, x\n    return $f\n\n"
        "$f = make_$f($v)",
        variables=True,
    ),
    Form(
        "closure_submitted",
        "def make_$f($v):\n    def inner():\n        return $p\n    return lambda x: (inner(), x)\n\n"
        "$f = make_$f($v)",
        how="submit",
        variables=True,
    ),
    Form("default", "@parallel\ndef $f(x, $d):\n    return $p, x\n", variables=True),
    Form(
        "keyword_default",
        "def plain_$f(x, *, $d):\n    return $p, x\n\n$f = parallel(plain_$f)",
        ("plain_$f.__kwdefaults__ = dict.fromkeys(plain_$f.__kwdefaults__, [$n])",),
        variables=True,
    ),
    Form("helped", _helped("@parallel"), ("def help_$f():\n    return $n\n", "help_$f = lambda: [$n]")),
    Form(
        "helped_twice",
        "def deep_$f():\n    return $p\n\n"
        + _helped("@parallel").replace("$p", "[deep_$f() for _ in range(1)]"),
        ("def deep_$f():\n    return $n\n",),
    ),
    Form("helped_submitted", _helped(""), ("help_$f = lambda: [$n]",), how="submit"),
    Form(
        "nested",
        "@parallel\ndef $f(x):\n    def inner(y):\n        return $p, y\n"
        "    return inner(x), [inner(1) for _ in 'a']\n",
    ),
    Form(
        "attribute_of_it",
        "@parallel\ndef $f(x):\n    return $f.data, $p, x\n\n$f.data = [$n]",
        ("$f.data.append($n)", "$f.data = [$n]"),
    ),
    Form("method", f"{_HAS}{_KEEP}\nobj_$f = Has_$f([$n]); $f = parallel(obj_$f.go)", _OBJECT),
    Form("method_submitted", f"{_HAS}{_KEEP}\nobj_$f = Has_$f([$n]); $f = obj_$f.go", _OBJECT, how="submit"),
    Form(
        "parallel_method",
        f"{_HAS}    @parallel\n{_KEEP}\nobj_$f = Has_$f([$n]); $f = obj_$f.go",
        _OBJECT[:2],
        how="method",
    ),
    Form(
        "callable",
        f"{_HAS}{_KEEP}    __call__ = go\n\nobj_$f = Has_$f([$n]); $f = obj_$f",
        _OBJECT[:2],
        how="submit",
    ),
    Form(
        "class_method",
        f"{_HAS}    a = $n\n    @classmethod\n    def go(cls, x):\n        return cls.a, $p, x\n\n"
        f"$f = parallel(Has_$f.go)",
        ("Has_$f.a = $n",),
    ),
    Form(
        "static_method",
        f"{_HAS}    @staticmethod\n    def go(x):\n        return $p, x\n\n$f = parallel(Has_$f.go)",
    ),
    Form(
        "partly",
        "def plain_$f(own, x):\n    return own, $p, x\n\n"
        "own_$f = [$n]; $f = functools.partial(plain_$f, own_$f)",
        ("own_$f.append($n)",),
        how="submit",
    ),
    Form(
        "within",
        "@parallel\ndef sub_$f(x):\n    return $p, x\n\n@parallel\ndef $f(x):\n"
        "    return sub_$f(x), list(sub_$f.map([1, 2]))\n",
    ),
    Form("calls_itself", "@parallel\ndef $f(x, n=2):\n    return ($p, x) if n == 0 else $f(x, n - 1)\n"),
    Form("raises", "@parallel\ndef $f(x):\n    raise ValueError($p, x)\n"),
    Form(
        "raises_own",
        "class Error_$f(Exception):\n    pass\n\n@parallel\ndef $f(x):\n    raise Error_$f($p)\n",
        ("class Error_$f(KeyError):\n    pass\n",),
    ),
    Form(
        "raises_some",
        "@parallel\ndef $f(x):\n    if x == 2:\n        raise KeyError(x, $p)\n    return $p, x\n",
    ),
    Form(
        "makes",
        "class Made_$f:\n    def __init__(self, v):\n        self.v = v\n\n@parallel\ndef $f(x):\n"
        "    return Made_$f($p)\n",
        ("class Made_$f:\n    b = $n\n    def __init__(self, v):\n        self.w = v\n", "Made_$f.c = $n"),
    ),
    Form("changes_argument", "@parallel\ndef $f(x):\n    x.append($p)\n    return x\n", argument="[$n, 2]"),
    Form(
        "changes_array",
        "@parallel\ndef $f(x):\n    x[1] = 7\n    x += 1\n    return x, $p\n",
        argument="np.arange(40000.0)",
    ),
    Form(
        "changes_frame",
        "@parallel\ndef $f(x):\n    x['new'] = 1\n    x.iloc[0, 0] = 9\n    return x, $p\n",
        argument="pd.DataFrame({'a': range(3)})",
    ),
    Form("gives_twice", "@parallel\ndef $f(x):\n    y = [$p]\n    return y, [y, x], {'k': y}\n"),
    Form("gives_copies", "@parallel\ndef $f(x):\n    import copy\n    return copy.deepcopy([$p]), x\n"),
]
FORMS = {form.name: form for form in _ALL}
