"""Names of kernels, buffers and values that are valid in every C-like language.

A name that is a keyword of one of the languages, or a name of their libraries or of the functions
that stand before kernels, gets an underscore behind it.
"""

from __future__ import annotations

import re

_WORDS = """
abort abs abs_diff abstract acos acosh acospi active add_sat alias alignas alignof all and and_eq
any args array arrayLength as as_type asin asinh asinpi asm asm_fragment assert async atan atan2
atan2pi atanh atanpi atomic atomic_int attribute auto await barrier become begin bf16 bfloat bitand
bitcast bitor bitselect blockDim blockIdx bool break calloc case cast catch cbrt ceil char char16
char16_t char32_t char8_t clamp class clock clz co_await co_return co_yield coherent column_major
common compile compile_fragment compl complex concept const const_assert const_cast constant
consteval constexpr constinit continue continuing copysign cos cosh cospi countOneBits crate cross
debugger decltype default degrees delete demote demote_to_helper determinant device diagnostic dim3
discard distance div do dot double dpdx dpdy drem dynamic_cast else enable end enum environ EOF
erand erf erfc erfcinv erfinv errno event_t exit exp exp10 exp2 exp2f explicit expm1 export extends
extern external extractBits f16 f32 f64 fabs faceForward fallthrough false fdim FILE filter final
finally finite firstLeadingBit firstTrailingBit float floor fma fmax fmax3 fmin fmin3 fmod fn for
fpclassify fract free frexp friend from fwidth fxgroup gamma get gid Given given global goto gridDim
groupshared hadd half highp hypot i16 i32 i64 i64_of i8 if ilogb imaginary impl implements import
index INFINITY infinity inline insertBits instanceof int int16_t int32_t int64_t int8_t interface
intptr_t inverseSqrt isequal isfinite isgreater isgreaterequal isinf isless islessequal
islessgreater isnan isnormal isnotequal isordered isunordered j0 j1 jn kernel layout ldexp ldiv
length let lgamma lgamma_r lid llrint llround local log log10 log1p log2 logb long loop lowp lrint
lround macro macro_rules mad mad24 mad_hi mad_sat main malloc mat2x2 match max maxmag mediump
mem_flags memcpy memset meta metal min minmag mix mod modf module move mul24 mul_hi mut mutable
namespace NAN nan nearbyint new nextafter nexttoward nil noexcept noinline nointerpolation
non_coherent noncoherent noperspective norm normalize normcdf not not_a_number not_eq NULL null
nullptr of operator or or_eq outerProduct override pack2x16float package packoffset partial pass
patch pixelfragment popcount pow pow10 pown powr precise precision prefetch premerge printf priv
private protected ptr ptrdiff_t pub public quantizeToF16 radians rand random ray_data rcbrt read
readonly ref reflect refract regardless register reinterpret_cast remainder remquo require
requirements requires resource restrict return reverseBits rhadd rindex rint rootn rotate round
rsqrt sampler sampler_t saturate scalb scalbln scalbn select Self self set shared short shuffle
shuffle2 sign signal signbit signed signgam significand significandf simdgroup sin sincos sinh sinpi
size_t sizeof smooth smoothstep snorm sqrt static static_assert static_cast std stderr stdin stdout
step storage storageBarrier struct sub_sat subroutine super switch tan tanh tanpi target template
texture texture1d texture2d texture3d textureLoad tgamma this thread thread_local threadgroup
threadIdx throw tid time trait transpose true trunc try type typedef typeid typename typeof u16 u32
u64 u8 uchar uint uint16_t uint32_t uint64_t uint8_t uintptr_t ulong uniform union unless unorm
unpack2x16float unsafe unsigned unsized upsample use ushort using va_list var varying vec2 vec3 vec4
vector virtual void volatile warpSize wchar_t wgsl where while with workgroup workgroupBarrier
workgroupUniformLoad write writeonly xor xor_eq y0 y1 yield yn
"""
RESERVED = frozenset(_WORDS.split())

_SCALARS = r"(u?(char|short|int|long)|float|double|half|bool|size|ptrdiff|bfloat)"
_SHORT = r"(bool|b?f(16|32|64)|[iu](8|16|32|64))"
_FAMILIES = re.compile(
    "|".join(
        (
            rf"{_SCALARS}\d+(x\d+)?(_t)?",  # vectors and matrices
            r"(vec|mat|texture|image)\d\w*",
            r"(as|convert|atomic|atom|packed|simd|quad|work_group|sub_group)_\w+",
            r"(half|native|fast)_(cos|divide|exp\d*|log\d*|powr|recip|r?sqrt|sin|tan|distance|length)",
            r"v(load|store)a?(\d+|_half)\w*",
            r"get_(global|local|group|num|work|enqueued|image|sub|max|default)_\w+",
            rf"(maximum|minimum|absolute|copysign)_{_SHORT}",  # our functions
            rf"{_SHORT}_(to|as|of)(_{_SHORT})?",
            r"number_\w*",
            r"(M|FP|CLK|CL|FLT|DBL|INT\d*|UINT\d*|LONG|LLONG|ULONG|CHAR|SHRT|SIZE|HALF|MATH)_\w+",
            r"HUGE_VAL\w*",
            r"cuda[A-Z]\w*",
            r"_.*",  # kept for compilers
        )
    )
)


def is_reserved(word: str) -> bool:
    """Whether one of the languages has another use for a word; functions of C may end in f or l."""
    stem = word[:-1] if word[-1] in "fl" else word
    return word in RESERVED or stem in RESERVED or _FAMILIES.fullmatch(word) is not None


def free(name: str, taken: dict[str, None]) -> str:
    """A word that is not in use yet, like the name; from now on it is."""
    word = "".join(c if c.isascii() and (c.isalnum() or c == "_") else "_" for c in name)
    word = word if word.strip("_") else f"kernel{word}"
    word = f"k{word}" if word[0].isdigit() or word[0] == "_" else word
    word = f"{word}_" if is_reserved(word) else word
    found, count = word, 1
    while found in taken:
        found, count = f"{word}_{count}", count + 1
    taken[found] = None
    return found
