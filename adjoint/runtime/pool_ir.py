"""The worker pool as LLVM IR. What may not live here: tables of steps (`program_ir.py`).

The pool is some cache lines of memory. A caller publishes a job (rows of the table that are
consecutive kernels), opens it, and takes chunks of each kernel from an atomic counter, as the
workers do. The caller takes chunks from the front, workers from the back, so that a core works on a
part of memory of its own, the same in every kernel. Between two kernels of a job all threads wait
until all chunks of the first are done, which its counter says too. No thread waits for another to
arrive: one that is late, or never comes, is not needed. The caller runs a kernel of one chunk
inside a job. When no kernel is left, the caller closes the job and waits for the workers that are
inside.

A job says how many workers are useful, one fewer than it has chunks. The others see that in the
word on which they wait, and stay where they are. Each worker has cache lines of its own (a slot). A
worker marks itself as inside before it reads whether the job is open, and the caller closes the job
before it reads which workers are inside. All of these accesses are sequentially consistent, so one
of the two sees the other. The fields of a job change only while it is closed and no worker is
inside. They are on one cache line with the word on which workers wait, so a worker that sees the
word has the fields.
"""

from __future__ import annotations

import platform
import signal

from adjoint.runtime.stacks import ATTRIBUTES, WORKER

# Fields of the pool, in bytes from its start. The word that workers wait for counts jobs, and has
# in its lowest 16 bits how many workers the job is for; OPEN is that word, or 0.
GENERATION, OPEN, JOB_ROWS, JOB_COUNT, JOB_FLAG = 0, 8, 16, 24, 32
BUSY, STARTED, WANTED, WAITING, SPINS = 256, 260, 264, 268, 272
MUTEX, DONE, THREAD, OLD_SIGNALS, ALL_SIGNALS = 384, 512, 640, 704, 832
COUNTERS, COUNTER_BYTES, MOST_KERNELS = 1024, 64, 16  # of the kernels of a job
SLOTS = COUNTERS + COUNTER_BYTES * MOST_KERNELS  # of the workers
# Fields of a slot: whether the worker is inside of a job; whether it sleeps; its number; the pool.
INSIDE, SLEEPS, NUMBER, HOME, WORK, SLOT_BYTES = 0, 4, 8, 16, 64, 128
_JOB = 1 << 16  # of the word: one more job

# A step is eight 64-bit cells, the first of which is one of these.
KERNEL, LOOP, WHILE, BRANCH, COPY, PATCH = range(6)
STEP_CELLS = 8

# A program: pool, table, number of steps, flag that stops it.
PROGRAM_POOL, PROGRAM_TABLE, PROGRAM_COUNT, PROGRAM_FLAG, PROGRAM_BYTES = 0, 8, 16, 24, 32

_PAUSES = {
    "x86_64": ("llvm.x86.sse2.pause", "", ""),
    "AMD64": ("llvm.x86.sse2.pause", "", ""),
    "aarch64": ("llvm.aarch64.hint", "i32", "i32 1"),
    "arm64": ("llvm.aarch64.hint", "i32", "i32 1"),
}


def pool_bytes(threads: int) -> int:
    """Bytes of a pool of so many threads, the caller's among them."""
    return SLOTS + SLOT_BYTES * max(threads - 1, 0)


def _field(name: str, offset: int, of: str = "pool") -> str:
    return f"  %{name} = getelementptr i8, ptr %{of}, i64 {offset}\n"


def _pause() -> tuple[str, str]:
    """(declaration, call) of the spin-wait hint of the processor."""
    known = _PAUSES.get(platform.machine())
    if known is None:
        return "", ""
    name, parameters, arguments = known
    return f"declare void @{name}({parameters})\n", f"  call void @{name}({arguments})\n"


_DECLARE_PAUSE, _PAUSE = _pause()
# A counter of chunks: 24 bits of those taken from the first on, 24 of those taken from the last
# back, 16 of those that are done and were said to be.
_FROM_BEHIND, _DONE, _TAKEN = 1 << 24, 48, (1 << 24) - 1
MOST_CHUNKS = 1 << 15  # of a kernel that others of its job follow

_DECLARATIONS = f"""
declare i32 @pthread_attr_init(ptr)
declare i32 @pthread_attr_setstacksize(ptr, i64)
declare i32 @pthread_create(ptr, ptr, ptr, ptr)
declare i32 @pthread_detach(i64)
declare i32 @pthread_sigmask(i32, ptr, ptr)
declare i32 @pthread_mutex_init(ptr, ptr)
declare i32 @pthread_mutex_lock(ptr)
declare i32 @pthread_mutex_unlock(ptr)
declare i32 @pthread_cond_init(ptr, ptr)
declare i32 @pthread_cond_wait(ptr, ptr)
declare i32 @pthread_cond_signal(ptr)
declare void @llvm.memmove.p0.p0.i64(ptr, ptr, i64, i1)
{_DECLARE_PAUSE}"""

_CHUNKS = f"""
; takes chunks of a kernel, which a row of the table is, until none is left or the flag is set: the
; caller (%one is 1) from the first on, workers ({_FROM_BEHIND}) from the last back; how many it did
define internal i64 @chunks(ptr %next, i64 %one, ptr %row, ptr %flag) {{
entry:
  %p1 = getelementptr i64, ptr %row, i64 1
  %fn = load ptr, ptr %p1
  %p2 = getelementptr i64, ptr %row, i64 2
  %args = load ptr, ptr %p2
  %p3 = getelementptr i64, ptr %row, i64 3
  %n = load i64, ptr %p3
  %p4 = getelementptr i64, ptr %row, i64 4
  %chunk = load i64, ptr %p4
  %count = call i64 @chunks_of(ptr %row)
  %last = sub i64 %count, 1
  %behind = icmp ne i64 %one, 1
  br label %take
take:
  %did = phi i64 [0, %entry], [%more_did, %work]
  %stop = load atomic i32, ptr %flag monotonic, align 4
  %stopped = icmp ne i32 %stop, 0
  br i1 %stopped, label %done, label %more
more:
  %taken = atomicrmw add ptr %next, i64 %one monotonic
  %front = and i64 %taken, {_TAKEN}
  %shifted = lshr i64 %taken, 24
  %back = and i64 %shifted, {_TAKEN}
  %both = add i64 %front, %back
  %left = icmp slt i64 %both, %count
  br i1 %left, label %work, label %done
work:
  %mirrored = sub i64 %last, %back
  %number = select i1 %behind, i64 %mirrored, i64 %front
  %begin = mul i64 %number, %chunk
  %past = add i64 %begin, %chunk
  %end = call i64 @llvm.smin.i64(i64 %past, i64 %n)
  call void %fn(ptr %args, i64 %begin, i64 %end)
  %more_did = add i64 %did, 1
  br label %take
done:
  ret i64 %did
}}

; how many chunks the kernel of a row has
define internal i64 @chunks_of(ptr %row) {{
  %p3 = getelementptr i64, ptr %row, i64 3
  %n = load i64, ptr %p3
  %p4 = getelementptr i64, ptr %row, i64 4
  %chunk = load i64, ptr %p4
  %most = add i64 %n, %chunk
  %past_last = sub i64 %most, 1
  %count = sdiv i64 %past_last, %chunk
  ret i64 %count
}}
declare i64 @llvm.smin.i64(i64, i64)
"""

_KERNELS = f"""
; the kernels of a job in their order, by the caller (%one is 1) or by a worker
define internal void @kernels(ptr %pool, ptr %rows, i64 %count, i64 %one, ptr %flag) {{
entry:
{_field("counters", COUNTERS)}
  %is_caller = icmp eq i64 %one, 1
  br label %next
next:
  %i = phi i64 [0, %entry], [%j, %wait]
  %row = getelementptr [{STEP_CELLS} x i64], ptr %rows, i64 %i
  %offset = mul i64 %i, {COUNTER_BYTES}
  %counter = getelementptr i8, ptr %counters, i64 %offset
  %chunks = call i64 @chunks_of(ptr %row)
  %several = icmp sgt i64 %chunks, 1
  %mine = or i1 %several, %is_caller
  br i1 %mine, label %work, label %worked
work:
  %taken = call i64 @chunks(ptr %counter, i64 %one, ptr %row, ptr %flag)
  br label %worked
worked:
  %did = phi i64 [0, %next], [%taken, %work]
  %j = add i64 %i, 1
  %last = icmp eq i64 %j, %count
  br i1 %last, label %end, label %say
say:
  %said = shl i64 %did, {_DONE}
  %added = atomicrmw add ptr %counter, i64 %said seq_cst
  br i1 %is_caller, label %wait, label %tell
tell:
  call void @tell(ptr %pool)
  br label %wait
wait:
  %done = call i1 @await_chunks(ptr %pool, ptr %counter, i64 %chunks, i1 %is_caller, ptr %flag)
  br i1 %done, label %next, label %end
end:
  ret void
}}

; whether all chunks of a kernel are done: waits for that, the caller asleep after a while, a worker
; until it is tired: then it has nothing more to do with the job
define internal i1 @await_chunks(ptr %pool, ptr %counter, i64 %chunks, i1 %is_caller, ptr %flag) {{
entry:
{_field("waiting", WAITING)}{_field("spins", SPINS)}
{_field("mutex", MUTEX)}{_field("done", DONE)}
  %limit = load i32, ptr %spins
  br label %spin
spin:
  %i = phi i32 [0, %entry], [%j, %again]
  %all = call i1 @are_done(ptr %counter, i64 %chunks)
  br i1 %all, label %yes, label %look
look:
  %stop = load atomic i32, ptr %flag monotonic, align 4
  %stopped = icmp ne i32 %stop, 0
  br i1 %stopped, label %no, label %again
again:
{_PAUSE}  %j = add i32 %i, 1
  %tired = icmp sge i32 %j, %limit
  br i1 %tired, label %rest, label %spin
rest:
  br i1 %is_caller, label %sleep, label %no
sleep:
  %locked = call i32 @pthread_mutex_lock(ptr %mutex)
  store atomic i32 1, ptr %waiting seq_cst, align 4
  br label %ask
ask:
  %now = call i1 @are_done(ptr %counter, i64 %chunks)
  %late = load atomic i32, ptr %flag monotonic, align 4
  %cut = icmp ne i32 %late, 0
  %enough = or i1 %now, %cut
  br i1 %enough, label %rise, label %doze
doze:
  %rested = call i32 @pthread_cond_wait(ptr %done, ptr %mutex)
  br label %ask
rise:
  store atomic i32 0, ptr %waiting seq_cst, align 4
  %unlocked = call i32 @pthread_mutex_unlock(ptr %mutex)
  ret i1 %now
yes:
  ret i1 true
no:
  ret i1 false
}}

define internal i1 @are_done(ptr %counter, i64 %chunks) {{
  %word = load atomic i64, ptr %counter seq_cst, align 8
  %done = lshr i64 %word, {_DONE}
  %all = icmp sge i64 %done, %chunks
  ret i1 %all
}}

; a caller that sleeps is told that something has changed
define internal void @tell(ptr %pool) {{
entry:
{_field("waiting", WAITING)}{_field("mutex", MUTEX)}{_field("done", DONE)}
  %awaited = load atomic i32, ptr %waiting seq_cst, align 4
  %waits = icmp ne i32 %awaited, 0
  br i1 %waits, label %call, label %end
call:
  %locked = call i32 @pthread_mutex_lock(ptr %mutex)
  %told = call i32 @pthread_cond_signal(ptr %done)
  %unlocked = call i32 @pthread_mutex_unlock(ptr %mutex)
  br label %end
end:
  ret void
}}
"""

_WORKER = f"""
; waits until there is another job than the last that this worker is of use for: awake for a while,
; then asleep
define internal i64 @await_job(ptr %pool, ptr %slot, i64 %last) {{
entry:
{_field("generation", GENERATION)}{_field("spins", SPINS)}{_field("mutex", MUTEX)}
{_field("sleeps", SLEEPS, "slot")}{_field("n", NUMBER, "slot")}{_field("work", WORK, "slot")}
  %limit = load i32, ptr %spins
  %number = load i64, ptr %n
  br label %spin
spin:
  %i = phi i32 [0, %entry], [%j, %again]
  %known = phi i64 [%last, %entry], [%seen, %again]
  %seen = load atomic i64, ptr %generation acquire, align 8
  %new = icmp ne i64 %seen, %known
  %useful = and i64 %seen, {_JOB - 1}
  %mine = icmp slt i64 %number, %useful
  %called = and i1 %new, %mine
  br i1 %called, label %awake, label %again
again:
{_PAUSE}  %j = add i32 %i, 1
  %tired = icmp sge i32 %j, %limit
  br i1 %tired, label %sleep, label %spin
awake:
  ret i64 %seen
sleep:
  %locked = call i32 @pthread_mutex_lock(ptr %mutex)
  store atomic i32 1, ptr %sleeps seq_cst, align 4
  br label %look
look:
  %before = phi i64 [%seen, %sleep], [%now, %rest]
  %now = load atomic i64, ptr %generation seq_cst, align 8
  %changed = icmp ne i64 %now, %before
  %wanted = and i64 %now, {_JOB - 1}
  %for_me = icmp slt i64 %number, %wanted
  %up = and i1 %changed, %for_me
  br i1 %up, label %rise, label %rest
rest:
  %rested = call i32 @pthread_cond_wait(ptr %work, ptr %mutex)
  br label %look
rise:
  store atomic i32 0, ptr %sleeps seq_cst, align 4
  %unlocked = call i32 @pthread_mutex_unlock(ptr %mutex)
  ret i64 %now
}}

define internal ptr @worker(ptr %slot) {{
entry:
{_field("home", HOME, "slot")}{_field("inside", INSIDE, "slot")}
  %pool = load ptr, ptr %home
{_field("open", OPEN)}{_field("r", JOB_ROWS)}{_field("c", JOB_COUNT)}{_field("g", JOB_FLAG)}
  br label %wait
wait:
  %last = phi i64 [0, %entry], [%seen, %out]
  %seen = call i64 @await_job(ptr %pool, ptr %slot, i64 %last)
  store atomic i32 1, ptr %inside seq_cst, align 4
  %is_open = load atomic i64, ptr %open seq_cst, align 8
  %there = icmp eq i64 %is_open, %seen
  br i1 %there, label %join, label %out
join:
  %rows = load ptr, ptr %r
  %count = load i64, ptr %c
  %flag = load ptr, ptr %g
  call void @kernels(ptr %pool, ptr %rows, i64 %count, i64 {_FROM_BEHIND}, ptr %flag)
  br label %out
out:
  store atomic i32 0, ptr %inside seq_cst, align 4
  call void @tell(ptr %pool)
  br label %wait
}}
"""

_START = f"""
; starts the workers that are wanted; without signals, which belong to Python's threads
define internal void @start(ptr %pool) {{
entry:
{_field("started", STARTED)}{_field("wanted", WANTED)}{_field("thread", THREAD)}
{_field("mutex", MUTEX)}{_field("done", DONE)}{_field("slots", SLOTS)}
{_field("old", OLD_SIGNALS)}{_field("all", ALL_SIGNALS)}
  %attributes = alloca [{ATTRIBUTES} x i8], align 16
  %begun = call i32 @pthread_attr_init(ptr %attributes)
  %sized = call i32 @pthread_attr_setstacksize(ptr %attributes, i64 {WORKER})
  %m = call i32 @pthread_mutex_init(ptr %mutex, ptr null)
  %d = call i32 @pthread_cond_init(ptr %done, ptr null)
  %masked = call i32 @pthread_sigmask(i32 {int(signal.SIG_SETMASK)}, ptr %all, ptr %old)
  %count = load i32, ptr %wanted
  br label %next
next:
  %i = phi i32 [0, %entry], [%j, %made]
  %enough = icmp sge i32 %i, %count
  br i1 %enough, label %end, label %make
make:
  %wide = zext i32 %i to i64
  %offset = mul i64 %wide, {SLOT_BYTES}
  %slot = getelementptr i8, ptr %slots, i64 %offset
{_field("n", NUMBER, "slot")}{_field("home", HOME, "slot")}{_field("work", WORK, "slot")}
  store i64 %wide, ptr %n
  store ptr %pool, ptr %home
  %w = call i32 @pthread_cond_init(ptr %work, ptr null)
  %failed = call i32 @pthread_create(ptr %thread, ptr %attributes, ptr @worker, ptr %slot)
  %bad = icmp ne i32 %failed, 0
  br i1 %bad, label %end, label %made
made:
  %id = load i64, ptr %thread
  %detached = call i32 @pthread_detach(i64 %id)
  %j = add i32 %i, 1
  br label %next
end:
  %restored = call i32 @pthread_sigmask(i32 {int(signal.SIG_SETMASK)}, ptr %old, ptr null)
  store i32 1, ptr %started
  ret void
}}
"""

_PARALLEL = f"""
; wakes the workers that a job is for, as far as they sleep
define internal void @wake(ptr %pool, i64 %useful) {{
entry:
{_field("slots", SLOTS)}{_field("mutex", MUTEX)}
  br label %next
next:
  %i = phi i64 [0, %entry], [%j, %advance]
  %more = icmp slt i64 %i, %useful
  br i1 %more, label %ask, label %end
ask:
  %offset = mul i64 %i, {SLOT_BYTES}
  %slot = getelementptr i8, ptr %slots, i64 %offset
{_field("sleeps", SLEEPS, "slot")}{_field("work", WORK, "slot")}
  %asleep = load atomic i32, ptr %sleeps seq_cst, align 4
  %down = icmp ne i32 %asleep, 0
  br i1 %down, label %some, label %advance
some:
  ; a worker that counts as asleep has seen the new job or waits once we had the lock
  %locked = call i32 @pthread_mutex_lock(ptr %mutex)
  %unlocked = call i32 @pthread_mutex_unlock(ptr %mutex)
  %s = call i32 @pthread_cond_signal(ptr %work)
  br label %advance
advance:
  %j = add i64 %i, 1
  br label %next
end:
  ret void
}}

; whether one of the workers that a job is for is inside
define internal i1 @is_inside(ptr %pool, i64 %useful) {{
entry:
{_field("slots", SLOTS)}
  br label %next
next:
  %i = phi i64 [0, %entry], [%j, %ask]
  %more = icmp slt i64 %i, %useful
  br i1 %more, label %ask, label %none
ask:
  %offset = mul i64 %i, {SLOT_BYTES}
  %slot = getelementptr i8, ptr %slots, i64 %offset
{_field("inside", INSIDE, "slot")}
  %there = load atomic i32, ptr %inside seq_cst, align 4
  %still = icmp ne i32 %there, 0
  %j = add i64 %i, 1
  br i1 %still, label %some, label %next
some:
  ret i1 true
none:
  ret i1 false
}}

; waits until no worker is inside the job, which is closed
define internal void @drain(ptr %pool, i64 %useful) {{
entry:
{_field("waiting", WAITING)}{_field("spins", SPINS)}
{_field("mutex", MUTEX)}{_field("done", DONE)}
  %limit = load i32, ptr %spins
  br label %spin
spin:
  %i = phi i32 [0, %entry], [%j, %again]
  %inside = call i1 @is_inside(ptr %pool, i64 %useful)
  br i1 %inside, label %again, label %end
again:
{_PAUSE}  %j = add i32 %i, 1
  %tired = icmp sge i32 %j, %limit
  br i1 %tired, label %sleep, label %spin
sleep:
  %locked = call i32 @pthread_mutex_lock(ptr %mutex)
  store atomic i32 1, ptr %waiting seq_cst, align 4
  br label %look
look:
  %still = call i1 @is_inside(ptr %pool, i64 %useful)
  br i1 %still, label %rest, label %rise
rest:
  %rested = call i32 @pthread_cond_wait(ptr %done, ptr %mutex)
  br label %look
rise:
  store atomic i32 0, ptr %waiting seq_cst, align 4
  %unlocked = call i32 @pthread_mutex_unlock(ptr %mutex)
  br label %end
end:
  ret void
}}

; runs kernels, rows of the table one after another: by the caller and the workers, or by the caller
; alone if there is one kernel of one chunk, no worker, or another caller. `of_use` is how many
; workers are, at most, for several kernels.
define internal void @parallel(ptr %pool, ptr %rows, i64 %count, i64 %of_use, ptr %flag) {{
entry:
  %own = alloca i64
{_field("wanted", WANTED)}{_field("busy", BUSY)}{_field("started", STARTED)}
{_field("open", OPEN)}{_field("generation", GENERATION)}{_field("counters", COUNTERS)}
{_field("r", JOB_ROWS)}{_field("c", JOB_COUNT)}{_field("g", JOB_FLAG)}
  %chunks = call i64 @chunks_of(ptr %rows)
  %other_chunks = sub i64 %chunks, 1
  %others = call i64 @llvm.smax.i64(i64 %other_chunks, i64 %of_use)
  %small = icmp sle i64 %others, 0
  br i1 %small, label %alone, label %ask
ask:
  %workers = load i32, ptr %wanted
  %none = icmp eq i32 %workers, 0
  br i1 %none, label %alone, label %try
try:
  %pair = cmpxchg ptr %busy, i32 0, i32 1 seq_cst seq_cst
  %mine = extractvalue {{ i32, i1 }} %pair, 1
  br i1 %mine, label %ready, label %alone
alone:
  %a = phi i64 [0, %entry], [0, %ask], [0, %try], [%a.next, %alone]
  store i64 0, ptr %own
  %a.row = getelementptr [{STEP_CELLS} x i64], ptr %rows, i64 %a
  %a.did = call i64 @chunks(ptr %own, i64 1, ptr %a.row, ptr %flag)
  %a.next = add i64 %a, 1
  %a.more = icmp slt i64 %a.next, %count
  br i1 %a.more, label %alone, label %left
left:
  ret void
ready:
  %running = load i32, ptr %started
  %cold = icmp eq i32 %running, 0
  br i1 %cold, label %begin, label %reset
begin:
  call void @start(ptr %pool)
  br label %reset
reset:
  %i = phi i64 [0, %ready], [0, %begin], [%j, %reset]
  %offset = mul i64 %i, {COUNTER_BYTES}
  %counter = getelementptr i8, ptr %counters, i64 %offset
  store atomic i64 0, ptr %counter monotonic, align 8
  %j = add i64 %i, 1
  %further = icmp slt i64 %j, %count
  br i1 %further, label %reset, label %post
post:
  %all = zext i32 %workers to i64
  %useful = call i64 @llvm.smin.i64(i64 %others, i64 %all)
  %old = load atomic i64, ptr %generation monotonic, align 8
  %jobs = and i64 %old, -{_JOB}
  %more = add i64 %jobs, {_JOB}
  %word = or i64 %more, %useful
  store ptr %rows, ptr %r
  store i64 %count, ptr %c
  store ptr %flag, ptr %g
  store atomic i64 %word, ptr %open monotonic, align 8
  store atomic i64 %word, ptr %generation seq_cst, align 8
  call void @wake(ptr %pool, i64 %useful)
  call void @kernels(ptr %pool, ptr %rows, i64 %count, i64 1, ptr %flag)
  store atomic i64 0, ptr %open seq_cst, align 8
  call void @drain(ptr %pool, i64 %useful)
  store atomic i32 0, ptr %busy seq_cst, align 4
  ret void
}}
declare i64 @llvm.smax.i64(i64, i64)
"""

TEXT = _DECLARATIONS + _CHUNKS + _KERNELS + _WORKER + _START + _PARALLEL
