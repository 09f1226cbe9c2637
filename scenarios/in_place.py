"""Named tuples that compiled functions pass on by their place in memory.

By value each call takes a tuple apart into everything that it holds and puts it together again:
of a world of more than a hundred arrays that was most of what there was to compile (measured, of
the loop of a search engine: 26 CPU s by value, 18 by place).
"""

from __future__ import annotations

from functools import cache
from hashlib import sha256
from typing import Any, TypeVar

from llvmlite import ir
from numba.core import cgutils, types
from numba.core.datamodel import models
from numba.core.imputils import impl_ret_borrowed
from numba.core.typing.templates import AttributeTemplate
from numba.extending import (
    infer_getattr,
    lower_builtin,
    lower_getattr_generic,
    register_model,
    type_callable,
)

Passed = TypeVar("Passed")


def in_place(passed: Passed) -> Passed:
    """The same named tuple (or None), by its place as long as the calling kernel runs.

    Its fields are read where they are used; those that are named tuples are places, too.
    A loop that writes into arrays reads its own before it begins: nothing tells the compiler that
    what is written lies elsewhere (measured: 84 instead of 50 million page refreshes a second).

    Parameters
    ----------
    passed : named tuple or None
    """
    return passed


class _InPlace(types.Type):
    """The type of a place, and of what lies there."""

    def __init__(self, of: Any) -> None:
        self.of = of
        super().__init__(f"InPlace({sha256(str(of).encode()).hexdigest()[:16]})")


register_model(_InPlace)(models.OpaqueModel)


def _seen(kind: Any) -> Any:
    """The type of what is put into a place, or read from one."""
    return _InPlace(kind) if isinstance(kind, types.BaseNamedTuple) else kind


@type_callable(in_place)
def _type_of_place(_context: Any) -> Any:
    def typed(passed: Any) -> Any:
        return _seen(passed)

    return typed


@lower_builtin(in_place, types.Any)  # type: ignore[untyped-decorator]  # numba's
def _put(_context: Any, builder: Any, signature: Any, passed: Any) -> Any:
    if not isinstance(signature.return_type, _InPlace):
        return passed[0]
    place = cgutils.alloca_once_value(builder, passed[0])
    return builder.bitcast(place, cgutils.voidptr_t)


@infer_getattr
class _Fields(AttributeTemplate):
    key = _InPlace

    def generic_resolve(self, typ: Any, attr: str) -> Any:  # type: ignore[override]  # None there
        """The type of a field; None where there is no such field."""
        fields = typ.of.fields
        return _seen(typ.of.types[fields.index(attr)]) if attr in fields else None


@lower_getattr_generic(_InPlace)  # type: ignore[untyped-decorator]  # numba's
def _read(context: Any, builder: Any, place: _InPlace, pointer: Any, name: str) -> Any:
    index = place.of.fields.index(name)
    kind = place.of.types[index]
    offset = ir.Constant(ir.IntType(64), _offsets(context, place.of)[index])
    field = builder.gep(pointer, [offset], inbounds=True)
    if isinstance(kind, types.BaseNamedTuple):
        return field
    value = builder.load(builder.bitcast(field, context.get_value_type(kind).as_pointer()))
    return impl_ret_borrowed(context, builder, kind, value)


@cache
def _offsets(context: Any, of: Any) -> list[int]:
    """Bytes from the begin of a named tuple to each of its fields."""
    whole = context.get_value_type(of)
    count = range(len(of.fields))
    if isinstance(whole, ir.ArrayType):  # all of one type
        return [context.get_abi_sizeof(whole.element) * index for index in count]
    data = context.target_data
    return [whole.get_element_offset(data, index) for index in count]
