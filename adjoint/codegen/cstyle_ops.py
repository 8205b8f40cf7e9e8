"""The table from op to text, for languages that read like C; and the functions it calls.

A line is a text with `{0}`, `{1}`, … for the operands, each of which occurs once, `{f}` for what
the language adds to the name of a function of that float type, and `{s}` for the short name of the
dtype. A name with `{s}` is a function of ours: its text is in FUNCTIONS, and it is written in front
of the kernels that call it. Languages change single lines (see `cstyle_languages`).
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

# op → kinds → the body of our function of a and b, {t} their type
FUNCTIONS: Table = {
    "maximum": {"f": "return a > b || a != a ? a : b;", _INT: "return a > b ? a : b;"},
    "minimum": {"f": "return a < b || a != a ? a : b;", _INT: "return a < b ? a : b;"},
    "absolute": {"i": "return a < 0 ? -a : a;"},
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

# Words that a kernel or a buffer may not be called in one of the languages.
_WORDS = """
abs abstract acos acosh active alias alignas alignof all and and_eq any args array as as_type asin
asinh asm asm_fragment assert async atan atan2 atanh atomic attribute auto await barrier become
begin bitand bitcast bitor bool break calloc case cast catch cbrt ceil char char16_t char32_t
char8_t clamp class clock co_await co_return co_yield coherent column_major common compile
compile_fragment compl complex concept const const_assert const_cast constant consteval constexpr
constinit continue continuing copysign cos cosh cospi crate cross debugger decltype default
degrees delete demote demote_to_helper device diagnostic discard distance div do dot double drem
dynamic_cast else enable end enum erf erfc erfcinv erfinv exp exp10 exp2 exp2f explicit expm1
export extends extern external f16 f32 fabs fallthrough false fdim filter final finally finite
float floor fma fmax fmin fmod fn for fract free frexp friend from fxgroup gamma get given global
goto groupshared half highp hypot i32 if ilogb imaginary impl implements import in index inline
instanceof int int16_t int32_t int64_t int8_t interface isfinite isinf isnan isnormal j0 j1 jn
kernel layout ldexp ldiv length let lgamma llrint llround local log log10 log1p log2 logb long
loop lowp lrint lround macro macro_rules main malloc match max mediump memcpy memset meta min mix
mod modf module move mut mutable namespace nan nearbyint new nextafter nil noexcept noinline
nointerpolation non_coherent noncoherent noperspective norm normalize normcdf not not_eq NULL null
nullptr of operator or or_eq out override package packoffset partial pass patch pixelfragment
popcount pow pow10 precise precision premerge printf priv private protected ptr pub public radians
rand random rcbrt read readonly ref regardless register reinterpret_cast remainder remquo require
requirements requires resource restrict return rindex rint rotate round rsqrt sampler saturate
scalb scalbln scalbn select Self self set shared short sign signal signbit signed significand sin
sincos sinh sinpi size_t sizeof smooth smoothstep snorm sqrt static static_assert static_cast std
step struct subroutine super switch tan tanh target template texture tgamma this thread
thread_local threadgroup throw time trait transpose true trunc try type typedef typeid typename
typeof u32 uchar uint uint16_t uint32_t uint64_t uint8_t ulong uniform union unless unorm unsafe
unsigned unsized use ushort using var varying vec2 vec3 vec4 vector virtual void volatile wchar_t
wgsl where while with workgroup write writeonly xor xor_eq y0 y1 yield yn
"""
RESERVED = frozenset(_WORDS.split())
