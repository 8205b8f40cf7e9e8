"""What the package knows of an op is in its record: places that ask for its name become fewer."""

from tests.meta.op_names import PACKAGE, count, places

HELD = 85  # lower it with every place that becomes a field; never raise it
NONE_IN = (  # they read `OpDef.kernel`
    *("schedule/loop_axes.py", "schedule/classify.py", "schedule/fuse.py", "schedule/layout.py"),
    *("kernel/index_maps.py", "kernel/decompose.py", "kernel/loop_stages.py"),
    *("transforms/call.py", "ir/kernel_kind.py", "ir/values.py", "ir/bounds.py"),
)


def test_no_more_places_ask_an_op_for_its_name():
    assert sum(count().values()) <= HELD


def test_the_scheduler_and_lowering_ask_no_op_for_its_name():
    assert [name for name in NONE_IN if places(PACKAGE / name)] == []
