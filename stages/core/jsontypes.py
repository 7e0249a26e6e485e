"""Types of JSON whose shape is known only once it has been checked.

`object` is for what is passed on unseen. These are for what a module takes apart: lines before
their schema has been applied, replies of models, schema documents, what a source keeps in a
table's ``source.reader``. They are the one place where such values go untyped.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, TypeAlias

JsonValue: TypeAlias = Any
"""Any value; a wrong shape raises where it is taken apart, and is told as the input's fault."""

JsonObject: TypeAlias = dict[str, Any]
"""An object that its owner fills or changes."""

JsonMapping: TypeAlias = Mapping[str, Any]
"""An object that is only read."""
