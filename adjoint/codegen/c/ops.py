"""The table from op to text, for languages that read like C; and the functions it calls.

A line is a text with `{0}`, `{1}`, … for the operands, each of which occurs once, `{f}` for what
the language adds to the name of a function of that float type, and `{s}` for the short name of the
dtype. A name with `{s}` is a function of ours: its text is in FUNCTIONS, and it is written in front
of the kernels that call it. Languages change single lines (see `languages.py`).
"""

from __future__ import annotations

from collections.abc import Mapping

Table = Mapping[str, Mapping[str, str]]

_ANY = "iuf"
_INT = "iu"

# op → kinds of the operands → text
OPERATIONS: Table = {
    "add": {_ANY: "({0}+{1})", "b": "({0}||{1})"},
    "sub": {_ANY: "({0}-{1})"},
    "mul": {_ANY: "({0}*{1})", "b": "({0}&&{1})"},
    "true_div": {"f": "({0}/{1})"},
    "inverse": {"f": "(1/{0})"},
    "neg": {_ANY: "(-{0})"},
    "idiv": {_INT: "({0}/{1})"},
    "fmod": {_INT: "({0}%{1})"},
    "floordiv": {_INT: "({0}/{1})"},  # of indices, which are not negative
    "mod": {_INT: "({0}%{1})"},
    "lt": {_ANY: "({0}<{1})", "b": "({0}<{1})"},
    "le": {_ANY: "({0}<={1})", "b": "({0}<={1})"},
    "eq": {_ANY: "({0}=={1})", "b": "({0}=={1})"},
    "ne": {_ANY: "({0}!={1})", "b": "({0}!={1})"},
    "logical_not": {_ANY: "({0}==0)", "b": "(!{0})"},
    "logical_and": {"b": "({0}&&{1})"},
    "logical_or": {"b": "({0}||{1})"},
    "logical_xor": {"b": "({0}!={1})"},
    "bitwise_not": {_INT: "(~{0})", "b": "(!{0})"},
    "bitwise_and": {_INT: "({0}&{1})", "b": "({0}&&{1})"},
    "bitwise_or": {_INT: "({0}|{1})", "b": "({0}||{1})"},
    "bitwise_xor": {_INT: "({0}^{1})", "b": "({0}!={1})"},
    "lshift": {_INT: "({0}<<{1})"},
    "rshift": {_INT: "({0}>>{1})"},
    "where": {"b": "({0}?{1}:{2})"},
    "maximum": {_ANY: "maximum_{s}({0}, {1})", "b": "({0}||{1})"},
    "minimum": {_ANY: "minimum_{s}({0}, {1})", "b": "({0}&&{1})"},
    "abs": {"i": "absolute_{s}({0})", "ub": "{0}", "f": "fabs{f}({0})"},
    "sqrt": {"f": "sqrt{f}({0})"},
    "floor": {"f": "floor{f}({0})"},
    "ceil": {"f": "ceil{f}({0})"},
    "trunc": {"f": "trunc{f}({0})"},
    "round": {"f": "rint{f}({0})"},
    "copysign": {"f": "copysign{f}({0}, {1})"},
    "fma": {"f": "fma{f}({0}, {1}, {2})"},
}

# Operations of C on integers narrower than int give an int, which may lie outside of their dtype.
WIDENING = frozenset({"add", "sub", "mul", "neg", "lshift", "bitwise_not"})

# op → kinds → the body of our function of a and b; {t} is their type, {u} that type unsigned
FUNCTIONS: Table = {
    "maximum": {"f": "return a > b || a != a ? a : b;", _INT: "return a > b ? a : b;"},
    "minimum": {"f": "return a < b || a != a ? a : b;", _INT: "return a < b ? a : b;"},
    "absolute": {"i": "return a < 0 ? ({t})(0-({u})a) : a;"},
}

OPERANDS = {"absolute": 1}  # of those functions, where it is not two

# ---- 16-bit floats, which these languages hold as bits: {u} is a 32-bit unsigned integer, {h} a
# 16-bit one, {float} and {bits} turn bits into a float and back.

HALVES: Mapping[str, str] = {
    "f16_to_f32": """\
float f16_to_f32({h} x) {{
  {u} size = ({u})(x&0x7fff)<<13, sign = ({u})(x&0x8000)<<16;
  if (size > 0xf800000u) {{ return {float}(size|0x7fc00000u|sign); }}
  if (size == 0xf800000u) {{ return {float}(0x7f800000u|sign); }}
  return {float}({bits}({float}(size)*5192296858534827628530496329220096.0f)|sign);
}}""",
    "f32_to_f16": """\
{h} f32_to_f16(float x) {{
  {u} bits = {bits}(x), size = bits&0x7fffffffu, sign = (bits>>16)&0x8000u;
  if (size > 0x7f800000u) {{ return ({h})(sign|0x7e00u|((size>>13)&0x3ffu)); }}
  if (size >= 0x47800000u) {{ return ({h})(sign|0x7c00u); }}
  if (size < 0x38800000u) {{ return ({h})(sign|({bits}({float}(size)+0.5f)-0x3f000000u)); }}
  return ({h})(sign|((size-0x38000000u+0xfffu+((size>>13)&1u))>>13));
}}""",
    "bf16_to_f32": """\
float bf16_to_f32({h} x) {{
  return {float}(({u})x<<16);
}}""",
    "f32_to_bf16": """\
{h} f32_to_bf16(float x) {{
  {u} bits = {bits}(x);
  if (x != x) {{ return ({h})((bits|0x400000u)>>16); }}
  return ({h})((bits+0x7fffu+((bits>>16)&1u))>>16);
}}""",
}
