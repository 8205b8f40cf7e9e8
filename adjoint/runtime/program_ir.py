"""The interpreter of step tables as LLVM IR, which hands kernels to the worker pool.

What may live here: what the kinds of steps do. What may not: threads (`pool_ir.py`).
"""

from __future__ import annotations

from adjoint.runtime import pool_ir
from adjoint.runtime.pool_ir import (
    BRANCH,
    COPY,
    KERNEL,
    LOOP,
    PATCH,
    PROGRAM_COUNT,
    PROGRAM_FLAG,
    PROGRAM_TABLE,
    WHILE,
)

_BUMPS = """
; adds `times` strides to every cell of a list of (cell, stride)
define internal void @bump(ptr %list, i64 %count, i64 %times) {
entry:
  br label %next
next:
  %i = phi i64 [0, %entry], [%j, %one]
  %more = icmp slt i64 %i, %count
  br i1 %more, label %one, label %end
one:
  %pair = getelementptr { ptr, i64 }, ptr %list, i64 %i
  %cell = load ptr, ptr %pair
  %second = getelementptr { ptr, i64 }, ptr %list, i64 %i, i32 1
  %stride = load i64, ptr %second
  %by = mul i64 %stride, %times
  %value = load i64, ptr %cell
  %sum = add i64 %value, %by
  store i64 %sum, ptr %cell
  %j = add i64 %i, 1
  br label %next
end:
  ret void
}

; writes slots[slot] + offset to every cell of a list of (cell, slot, offset)
define internal void @patch(ptr %list, i64 %count, ptr %slots) {
entry:
  br label %next
next:
  %i = phi i64 [0, %entry], [%j, %one]
  %more = icmp slt i64 %i, %count
  br i1 %more, label %one, label %end
one:
  %entry.0 = getelementptr { ptr, i64, i64 }, ptr %list, i64 %i
  %entry.1 = getelementptr { ptr, i64, i64 }, ptr %list, i64 %i, i32 1
  %entry.2 = getelementptr { ptr, i64, i64 }, ptr %list, i64 %i, i32 2
  %cell = load ptr, ptr %entry.0
  %slot = load i64, ptr %entry.1
  %offset = load i64, ptr %entry.2
  %place = getelementptr i64, ptr %slots, i64 %slot
  %base = load i64, ptr %place
  %address = add i64 %base, %offset
  store i64 %address, ptr %cell
  %j = add i64 %i, 1
  br label %next
end:
  ret void
}
"""

_TURNS = """
; a kernel for all turns of a loop, one after another: cells (kernel, its arguments, how many,
; turns, strides), where an argument moves on by its stride after every turn
define void @turns(ptr %cells, i64 %begin, i64 %end) {
entry:
  %fn = load ptr, ptr %cells
  %p1 = getelementptr i64, ptr %cells, i64 1
  %given = load ptr, ptr %p1
  %p2 = getelementptr i64, ptr %cells, i64 2
  %count = load i64, ptr %p2
  %p3 = getelementptr i64, ptr %cells, i64 3
  %turns = load i64, ptr %p3
  %p4 = getelementptr i64, ptr %cells, i64 4
  %strides = load ptr, ptr %p4
  %own = alloca i64, i64 %count
  %size = mul i64 %count, 8
  call void @llvm.memmove.p0.p0.i64(ptr %own, ptr %given, i64 %size, i1 false)
  br label %next
next:
  %t = phi i64 [0, %entry], [%u, %moved]
  %more = icmp slt i64 %t, %turns
  br i1 %more, label %turn, label %done
turn:
  call void %fn(ptr %own, i64 %begin, i64 %end)
  br label %move
move:
  %i = phi i64 [0, %turn], [%j, %one]
  %some = icmp slt i64 %i, %count
  br i1 %some, label %one, label %moved
one:
  %cell = getelementptr i64, ptr %own, i64 %i
  %place = getelementptr i64, ptr %strides, i64 %i
  %by = load i64, ptr %place
  %old = load i64, ptr %cell
  %new = add i64 %old, %by
  store i64 %new, ptr %cell
  %j = add i64 %i, 1
  br label %move
moved:
  %u = add i64 %t, 1
  br label %next
done:
  ret void
}
"""


def _cells() -> str:
    names = "abcdef"
    return "".join(
        f"  %p{x} = getelementptr i64, ptr %step, i64 {i + 1}\n  %{x} = load i64, ptr %p{x}\n"
        for i, x in enumerate(names)
    )


_STEPS = f"""
; runs steps [first, first + count) of the table; 1 if the flag stopped it
define internal i32 @steps(ptr %pool, ptr %table, i64 %first, i64 %count, ptr %flag) {{
entry:
  %limit = add i64 %first, %count
  br label %next
next:
  %i = phi i64 [%first, %entry], [%j, %advance], [%behind, %kernel]
  %more = icmp slt i64 %i, %limit
  br i1 %more, label %check, label %fine
fine:
  ret i32 0
stopped:
  ret i32 1
check:
  %stop = load atomic i32, ptr %flag monotonic, align 4
  %set = icmp ne i32 %stop, 0
  br i1 %set, label %stopped, label %begin
advance:
  %j = add i64 %i, 1
  br label %next
begin:
  %step = getelementptr [8 x i64], ptr %table, i64 %i
  %kind = load i64, ptr %step
{_cells()}
  %a.ptr = inttoptr i64 %a to ptr
  %b.ptr = inttoptr i64 %b to ptr
  %c.ptr = inttoptr i64 %c to ptr
  %d.ptr = inttoptr i64 %d to ptr
  switch i64 %kind, label %advance [
    i64 {KERNEL}, label %kernel
    i64 {LOOP}, label %loop
    i64 {WHILE}, label %while
    i64 {BRANCH}, label %branch
    i64 {COPY}, label %copy
    i64 {PATCH}, label %patch
  ]
kernel:
  %kernels = call i64 @llvm.smax.i64(i64 %e, i64 1)
  call void @parallel(ptr %pool, ptr %step, i64 %kernels, i64 %f, ptr %flag)
  %behind = add i64 %i, %kernels
  br label %next
loop:
  %t = phi i64 [0, %begin], [%u, %turned]
  %again = icmp slt i64 %t, %a
  br i1 %again, label %turn, label %unwind
turn:
  %body = call i32 @steps(ptr %pool, ptr %table, i64 %b, i64 %c, ptr %flag)
  %body.stopped = icmp ne i32 %body, 0
  br i1 %body.stopped, label %unwind, label %turned
turned:
  call void @bump(ptr %d.ptr, i64 %e, i64 1)
  %u = add i64 %t, 1
  br label %loop
unwind:
  %end = phi i32 [0, %loop], [1, %turn]
  %back = sub i64 0, %t
  call void @bump(ptr %d.ptr, i64 %e, i64 %back)
  %cut = icmp ne i32 %end, 0
  br i1 %cut, label %stopped, label %advance
while:
  %test = call i32 @steps(ptr %pool, ptr %table, i64 %a, i64 %b, ptr %flag)
  %test.stopped = icmp ne i32 %test, 0
  br i1 %test.stopped, label %stopped, label %ask
ask:
  %w.byte = load ptr, ptr %c.ptr
  %w.value = load i8, ptr %w.byte
  %w.true = icmp ne i8 %w.value, 0
  br i1 %w.true, label %round, label %advance
round:
  %did = call i32 @steps(ptr %pool, ptr %table, i64 %d, i64 %e, ptr %flag)
  %did.stopped = icmp ne i32 %did, 0
  br i1 %did.stopped, label %stopped, label %rest
rest:
  %w.stop = load atomic i32, ptr %flag monotonic, align 4
  %w.set = icmp ne i32 %w.stop, 0
  br i1 %w.set, label %stopped, label %while
branch:
  %b.byte = load ptr, ptr %a.ptr
  %b.value = load i8, ptr %b.byte
  %b.true = icmp ne i8 %b.value, 0
  %where = select i1 %b.true, i64 %b, i64 %d
  %many = select i1 %b.true, i64 %c, i64 %e
  %part = call i32 @steps(ptr %pool, ptr %table, i64 %where, i64 %many, ptr %flag)
  %part.stopped = icmp ne i32 %part, 0
  br i1 %part.stopped, label %stopped, label %advance
copy:
  %to = load ptr, ptr %a.ptr
  %from = load ptr, ptr %b.ptr
  call void @llvm.memmove.p0.p0.i64(ptr %to, ptr %from, i64 %c, i1 false)
  br label %advance
patch:
  call void @patch(ptr %a.ptr, i64 %b, ptr %c.ptr)
  br label %advance
}}

define i32 @run(ptr %program) {{
  %pool = load ptr, ptr %program
  %p1 = getelementptr i8, ptr %program, i64 {PROGRAM_TABLE}
  %table = load ptr, ptr %p1
  %p2 = getelementptr i8, ptr %program, i64 {PROGRAM_COUNT}
  %count = load i64, ptr %p2
  %flag = getelementptr i8, ptr %program, i64 {PROGRAM_FLAG}
  %stopped = call i32 @steps(ptr %pool, ptr %table, i64 0, i64 %count, ptr %flag)
  %stop = load atomic i32, ptr %flag monotonic, align 4
  %set = icmp ne i32 %stop, 0
  %late = zext i1 %set to i32
  %result = or i32 %stopped, %late
  ret i32 %result
}}
"""

TEXT = pool_ir.TEXT + _BUMPS + _TURNS + _STEPS
