"""What the value of a variable is, in text that is the same exactly where the values are."""

from __future__ import annotations

import dataclasses
import enum
import hashlib
from typing import Any

import numpy as np
import pandas as pd


def form_of(value: Any) -> Any:
    """A value as lists and text: types, digits and bytes all told; of classes of cells the name."""
    kind = type(value).__qualname__
    if isinstance(value, np.ndarray):
        data = value.tolist() if value.dtype.hasobject else hashlib.sha256(value.tobytes()).hexdigest()
        return [kind, str(value.dtype), list(value.shape), form_of(data)]
    if isinstance(value, (pd.DataFrame, pd.Series)):
        columns = [value[name] for name in value] if isinstance(value, pd.DataFrame) else [value]
        return [kind, form_of(value.index), [[form_of(each.name), form_of(each.array)] for each in columns]]
    if isinstance(value, (pd.Index, pd.api.extensions.ExtensionArray)):
        return [kind, str(value.dtype), form_of(list(value))]
    if isinstance(value, enum.Enum):
        return [kind, value.name]
    if isinstance(value, (set, frozenset)):
        return [kind, sorted((form_of(each) for each in value), key=repr)]
    if isinstance(value, dict):
        return [kind, [[form_of(key), form_of(each)] for key, each in value.items()]]
    if isinstance(value, (list, tuple)):
        return [kind, [form_of(each) for each in value]]
    if dataclasses.is_dataclass(value) and not isinstance(value, type):
        return [kind, [form_of(getattr(value, field.name)) for field in dataclasses.fields(value)]]
    return [kind, repr(value)]
