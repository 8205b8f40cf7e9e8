"""The fused multiply-add of doubles by integers, for every operand: LLVM IR as text.

A finite product is a 106-bit integer times a power of two. It and the addend are shifted so that
the leading bit is at 125 of 128, the smaller is shifted down (bits that fall off set a sticky bit),
and their sum is rounded once, to nearest even.
"""

FUSED = """
define internal i128 @adjoint.jam(i128 %x, i32 %by) nounwind {
  %far = icmp ugt i32 %by, 126
  %near = select i1 %far, i32 126, i32 %by
  %count = zext i32 %near to i128
  %kept = lshr i128 %x, %count
  %back = shl i128 %kept, %count
  %lost = icmp ne i128 %back, %x
  %mark = zext i1 %lost to i128
  %jammed = or i128 %kept, %mark
  %some = icmp ne i128 %x, 0
  %rest = zext i1 %some to i128
  %value = select i1 %far, i128 %rest, i128 %jammed
  ret i128 %value
}
define internal { i64, i32 } @adjoint.parts(double %x) nounwind {
  %bits = bitcast double %x to i64
  %shifted = lshr i64 %bits, 52
  %field = and i64 %shifted, 2047
  %short = trunc i64 %field to i32
  %fraction = and i64 %bits, 4503599627370495
  %normal = icmp ne i32 %short, 0
  %lead = select i1 %normal, i64 4503599627370496, i64 0
  %mantissa = or i64 %fraction, %lead
  %exponent = select i1 %normal, i32 %short, i32 1
  %first = insertvalue { i64, i32 } poison, i64 %mantissa, 0
  %both = insertvalue { i64, i32 } %first, i32 %exponent, 1
  ret { i64, i32 } %both
}
define internal double @adjoint.fma(double %a, double %b, double %c) nounwind {
start:
  %pa = call { i64, i32 } @adjoint.parts(double %a)
  %pb = call { i64, i32 } @adjoint.parts(double %b)
  %pc = call { i64, i32 } @adjoint.parts(double %c)
  %ma = extractvalue { i64, i32 } %pa, 0
  %ea = extractvalue { i64, i32 } %pa, 1
  %mb = extractvalue { i64, i32 } %pb, 0
  %eb = extractvalue { i64, i32 } %pb, 1
  %mc = extractvalue { i64, i32 } %pc, 0
  %ec = extractvalue { i64, i32 } %pc, 1
  %product = fmul double %a, %b
  %a.far = icmp eq i32 %ea, 2047
  %b.far = icmp eq i32 %eb, 2047
  %c.far = icmp eq i32 %ec, 2047
  %a.zero = icmp eq i64 %ma, 0
  %b.zero = icmp eq i64 %mb, 0
  %far = or i1 %a.far, %b.far
  %zero = or i1 %a.zero, %b.zero
  %plain = or i1 %far, %zero
  br i1 %plain, label %simple, label %check
simple:
  %sum = fadd double %product, %c
  ret double %sum
check:
  br i1 %c.far, label %addend, label %exact
addend:
  %twice = fadd double %c, %c
  ret double %twice
exact:
  %ia = bitcast double %a to i64
  %ib = bitcast double %b to i64
  %ic = bitcast double %c to i64
  %is = xor i64 %ia, %ib
  %p.negative = icmp slt i64 %is, 0
  %c.negative = icmp slt i64 %ic, 0
  %wa = zext i64 %ma to i128
  %wb = zext i64 %mb to i128
  %wc = zext i64 %mc to i128
  %p.raw = mul i128 %wa, %wb
  %p.zeros = call i128 @llvm.ctlz.i128(i128 %p.raw, i1 false)
  %p.by = sub i128 %p.zeros, 2
  %p = shl i128 %p.raw, %p.by
  %p.short = trunc i128 %p.by to i32
  %e.sum = add i32 %ea, %eb
  %e.two = sub i32 %e.sum, 2150
  %ep = sub i32 %e.two, %p.short
  %c.some = icmp ne i64 %mc, 0
  %c.zeros = call i128 @llvm.ctlz.i128(i128 %wc, i1 false)
  %c.less = sub i128 %c.zeros, 2
  %c.by = select i1 %c.some, i128 %c.less, i128 0
  %c.up = shl i128 %wc, %c.by
  %c.short = trunc i128 %c.by to i32
  %e.one = sub i32 %ec, 1075
  %e.c = sub i32 %e.one, %c.short
  %e.far = select i1 %c.some, i32 %e.c, i32 -100000
  %p.larger = icmp sge i32 %ep, %e.far
  %e.top = select i1 %p.larger, i32 %ep, i32 %e.far
  %e.low = select i1 %p.larger, i32 %e.far, i32 %ep
  %apart = sub i32 %e.top, %e.low
  %top = select i1 %p.larger, i128 %p, i128 %c.up
  %low = select i1 %p.larger, i128 %c.up, i128 %p
  %down = call i128 @adjoint.jam(i128 %low, i32 %apart)
  %differ = xor i1 %p.negative, %c.negative
  %minus = sub i128 0, %down
  %other = select i1 %differ, i128 %minus, i128 %down
  %total = add i128 %top, %other
  %top.negative = select i1 %p.larger, i1 %p.negative, i1 %c.negative
  %turned = icmp slt i128 %total, 0
  %negated = sub i128 0, %total
  %size = select i1 %turned, i128 %negated, i128 %total
  %negative = xor i1 %top.negative, %turned
  %nothing = icmp eq i128 %size, 0
  br i1 %nothing, label %cancelled, label %round
cancelled:
  ret double 0.0
round:
  %zeros = call i128 @llvm.ctlz.i128(i128 %size, i1 false)
  %lead = shl i128 %size, %zeros
  %zeros.short = trunc i128 %zeros to i32
  %e = sub i32 %e.top, %zeros.short
  %biased = add i32 %e, 1150
  %under = sub i32 1, %biased
  %below = icmp sgt i32 %under, 0
  %k = select i1 %below, i32 %under, i32 0
  %placed = call i128 @adjoint.jam(i128 %lead, i32 %k)
  %kept.wide = lshr i128 %placed, 75
  %kept = trunc i128 %kept.wide to i64
  %rest = and i128 %placed, 37778931862957161709567
  %more = icmp ugt i128 %rest, 18889465931478580854784
  %tie = icmp eq i128 %rest, 18889465931478580854784
  %odd.bit = and i64 %kept, 1
  %odd = icmp ne i64 %odd.bit, 0
  %tie.up = and i1 %tie, %odd
  %up = or i1 %more, %tie.up
  %one = zext i1 %up to i64
  %mantissa = add i64 %kept, %one
  %field = select i1 %below, i32 0, i32 %biased
  %field.less = sub i32 %field, 1
  %field.base = select i1 %below, i32 0, i32 %field.less
  %field.wide = zext i32 %field.base to i64
  %field.up = shl i64 %field.wide, 52
  %finite = add i64 %field.up, %mantissa
  %over = icmp sgt i32 %biased, 2046
  %bits = select i1 %over, i64 9218868437227405312, i64 %finite
  %sign = select i1 %negative, i64 -9223372036854775808, i64 0
  %signed = or i64 %bits, %sign
  %value = bitcast i64 %signed to double
  ret double %value
}
declare i128 @llvm.ctlz.i128(i128, i1)
"""
