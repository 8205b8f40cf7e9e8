"""WGSL, the language of WebGPU: what it writes differently.

It has 32-bit numbers only. Indices, which are 64 bits wide everywhere else, fit because memory is
smaller than 2 GiB there; where an integer of 64 bits is more than an index, it must be known to be
small. A bool in memory is a u32. Infinities and NaNs cannot be written, so they are made from bits.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import ClassVar

from adjoint.codegen.c.language import Head, Language, Needs
from adjoint.codegen.c.ops import OPERANDS, Table
from adjoint.errors import DeviceError
from adjoint.ir.bounds import bounds
from adjoint.ir.dtype import DType, PtrDType, dtypes
from adjoint.ir.uop import UOp

_MODULAR = frozenset({"add", "sub", "mul", "neg"})  # their low 32 bits need no others
_SIGNED = "fn i64_of(a: i32) -> vec2<i32> { return vec2<i32>(a, a >> 31u); }"


class WGSLLanguage(Language):
    """WGSL. Numbers that the kernel is given are the fields of a uniform."""

    name = "wgsl"
    types: ClassVar[Mapping[str, str]] = {
        "bool": "bool",
        "int32": "i32",
        "int64": "i32",
        "uint32": "u32",
        "float16": "f16",
        "float32": "f32",
    }
    changes: ClassVar[Table] = {
        "neg": {"u": "(0u-{0})"},
        "lt": {"b": "(!{0}&&{1})"},
        "le": {"b": "(!{0}||{1})"},
        "lshift": {"iu": "({0}<<u32({1}))"},
        "rshift": {"iu": "({0}>>u32({1}))"},
        "where": {"b": "select({2}, {1}, {0})"},
        "maximum": {"iu": "max({0}, {1})"},
        "minimum": {"iu": "min({0}, {1})"},
        "abs": {"if": "abs({0})"},
        "round": {"f": "round({0})"},
        "copysign": {"f": "copysign_{s}({0}, {1})"},
    }
    bodies: ClassVar[Table] = {
        "maximum": {"f": "return select(b, a, a > b || a != a);"},
        "minimum": {"f": "return select(b, a, a < b || a != a);"},
        "copysign": {
            "f": "return bitcast<f32>((bitcast<u32>(a) & 0x7fffffffu) | "
            "(bitcast<u32>(b) & 0x80000000u));"
        },
    }
    long = ""
    has_halves = True
    overflows = False
    one_file = False
    group = "{type}(gid.{axis})"
    in_group = "{type}(lid.{axis})"
    iteration = "i32(tid.x)"
    barrier = "workgroupBarrier(); storageBarrier();"

    # ---- numbers

    def integer(self, value: int, dtype: DType, exact: bool) -> str:
        if dtype.bits == 64 and not _is_small(value, value):
            raise _refused(f"{value}, which needs 64 bits")
        short = dtypes.uint32 if dtype.kind == "u" else dtypes.int32
        return super().integer(value, short, exact)

    def not_finite(self, word: str, dtype: DType, needs: Needs) -> str:
        """By its bits, which must not be a constant: such a constant is an error."""
        name, bits = ("not_a_number", "0x7fc00000") if word == "NAN" else ("infinity", "0x7f800000")
        needs[name] = f"var<private> {name}: u32 = {bits}u;"
        text = f"bitcast<f32>({name})"
        return text if dtype is dtypes.float32 else f"{self.type(dtype)}({text})"

    def opaque(self, literal: str, dtype: DType, needs: Needs) -> str:
        """As a variable: what cannot be computed from constants is an error before it runs."""
        if dtype.is_bool or "(" in literal.strip("()"):
            return literal
        word = literal.strip("()").translate({ord("-"): "m", ord("."): "_", ord("+"): None})
        needs[f"number_{word}"] = f"var<private> number_{word}: {self.type(dtype)} = {literal};"
        return f"number_{word}"

    def need_function(self, name: str, dtype: DType, needs: Needs) -> None:
        kind = self.type(dtype)
        operands = ", ".join(f"{n}: {kind}" for n in "ab"[: OPERANDS.get(name, 2)])
        body = self.bodies[name][dtype.kind]
        needs[f"{name}_{dtype.short}"] = (
            f"fn {name}_{dtype.short}({operands}) -> {kind} {{ {body} }}"
        )

    def converted(self, x: str, after: DType) -> str:
        return f"{self.type(after)}({x})"

    def reinterpret(self, x: str, before: DType, after: DType, needs: Needs) -> str:
        return f"bitcast<{self.type(after)}>({x})"

    # ---- statements

    def constant(self, dtype: DType, name: str, value: str) -> str:
        return f"let {name}: {self.type(dtype)} = {value};"

    def variable(self, dtype: DType, name: str, value: str) -> str:
        return f"var {name}: {self.type(dtype)} = {value};"

    def memory(self, dtype: DType) -> str:
        wide = {"bool": "u32", "int64": "vec2<i32>"}
        return wide.get(dtype.name) or self.type(dtype)

    def array(self, dtype: DType, name: str, size: int) -> str:
        return f"var {name}: array<{self.memory(dtype)}, {size}>;"

    def registers(self, dtype: DType, name: str, size: int) -> str:
        return f"var {name}: array<{self.type(dtype)}, {size}>;"

    def shared(self, dtype: DType, name: str, size: int, needs: Needs) -> str:
        needs[name] = f"var<workgroup> {name}: array<{self.memory(dtype)}, {size}>;"
        return ""

    def element(self, buffer: str, index: str) -> str:
        negative = index.startswith("(-") and index[2:-1].isdigit()  # behind a gate that is closed
        return f"{buffer}[{'0' if negative else index}]"

    def loaded(self, dtype: DType, element: str) -> str:
        if dtype.bits == 64:
            return f"{element}.x"
        return f"({element}!=0u)" if dtype.is_bool else element

    def load_or(self, gate: str, found: str, other: str) -> str:
        return f"select({other}, {found}, {gate})"

    def stored(self, value: UOp, text: str, needs: Needs) -> str:
        if value.dtype is dtypes.bool_:
            return f"u32({text})"
        if value.dtype is not dtypes.int64:
            return text
        needs["i64_of"] = _SIGNED
        return f"i64_of({text})"

    def loop(self, dtype: DType, name: str, first: str, stop: str) -> str:
        return f"for (var {name}: {self.type(dtype)} = {first}; {name} < {stop}; {name}++) {{"

    def small_loop(self, name: str, first: str, test: str, step: str) -> str:
        return f"for (var {name}: i32 = {first}; {test}; {step}) {{"

    def check(self, node: UOp) -> None:
        """64-bit integers must be known to be small, except those that are only indices."""
        name, places = node.op.name, node.src
        if name in ("load", "store"):
            memory = places[0].dtype
            known = name == "store" or (isinstance(memory, PtrDType) and memory.local)
            if isinstance(memory, PtrDType) and memory.base is dtypes.int64 and not known:
                raise _refused("int64 in memory")
            places = places[2:]
        if name not in _MODULAR:
            for place in places:
                if getattr(place.dtype, "name", "") == "int64" and not _is_small(*bounds(place)):
                    raise _refused("integers of 64 bits, and one here may be large")

    # ---- kernels

    def opening(self, head: Head, needs: Needs) -> list[str]:
        for place, (name, dtype, mutable) in enumerate(head.buffers):
            access = "read_write" if mutable else "read"
            kind = f"var<storage, {access}> {name}: array<{self.memory(dtype)}>"
            needs[name] = f"@group(0) @binding({place}) {kind};"
        lines = []
        if head.scalars:
            fields = ", ".join(f"{s.name}: {self.memory(s.dtype)}" for s in head.scalars)
            needs["Given"] = f"struct Given {{ {fields} }}"
            place = len(head.buffers)
            needs["given"] = f"@group(0) @binding({place}) var<uniform> given: Given;"
            texts = [(s, self.loaded(s.dtype, f"given.{s.name}")) for s in head.scalars]
            lines = [self.constant(s.dtype, s.name, text) for s, text in texts]
        x, y, z = head.group
        threads = f"@compute @workgroup_size({', '.join(map(str, head.group)) if y * z > 1 else x})"
        ids = "@builtin(workgroup_id) gid: vec3<u32>, @builtin(local_invocation_id) lid: vec3<u32>"
        ids = "@builtin(global_invocation_id) tid: vec3<u32>" if head.grid else ids
        return [f"{threads} fn {head.name}({ids}) {{", *lines]

    def preamble(self, text: str, needs: Needs) -> list[str]:
        half = "f16" in "\n".join([*needs.values(), text])
        return ["enable f16;"] if half else []


def _is_small(lo: int, hi: int) -> bool:
    return dtypes.int32.min <= lo and hi <= dtypes.int32.max


def _refused(what: str) -> DeviceError:
    help = "cast to int32 in the function"
    return DeviceError("E6003", f"wgsl has no {what}", op="source", help=help)
