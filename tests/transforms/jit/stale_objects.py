"""Objects, containers and callables that change under a jitted function."""

import collections
import dataclasses
import enum
import functools
import itertools
import operator
import types
import typing
import weakref

from adjoint import Tensor
from tests.transforms.jit.stale_case import Box, case, counter, made_module

# ---- objects


@case
def an_attribute():
    box, new = Box(), counter()
    return lambda x: x * box.n, lambda: setattr(box, "n", new())


@case
def a_bound_method():
    box, new = Box(), counter()
    return box.scaled, lambda: setattr(box, "n", new())


@case
def a_method_that_is_replaced():
    class Own(Box):
        def scaled(self, x):
            return x

    box, new = Own(), counter()

    def change():
        by = new()
        Own.scaled = lambda self, x: x * by

    return lambda x: box.scaled(x), change


@case
def a_method_that_is_put_on_the_object():
    box, new = Box(), counter()

    def change():
        by = new()
        box.scaled = lambda x: x * by

    return lambda x: box.scaled(x), change


@case
def a_class_attribute():
    class Own:
        n = 1.0

    new = counter()
    return lambda x: x * Own().n, lambda: setattr(Own, "n", new())


@case
def a_class_attribute_that_hides_the_base():
    class Own(Box):
        pass

    box, new = Own(), counter()
    return lambda x: x * box.kind, lambda: setattr(Own, "kind", new())


@case
def a_class_attribute_that_appears():
    class Own:
        pass

    box, new = Own(), counter()
    return lambda x: x * getattr(box, "n", 1.0), lambda: setattr(Own, "n", new())


@case
def a_special_method():
    class Own:
        def __bool__(self):
            return True

    box, answers = Own(), iter([False, True])

    def change():
        answer = next(answers)
        Own.__bool__ = lambda self: answer

    return lambda x: x * 2 if box else x, change


@case
def the_class_of_an_object():
    class One:
        n = 1.0

    class Other:
        n = 2.0

    box, classes = One(), itertools.cycle([Other, One])
    return lambda x: x * box.n, lambda: setattr(box, "__class__", next(classes))


@case
def a_metaclass_attribute():
    class Meta(type):
        n = 1.0

    class Own(metaclass=Meta):
        pass

    new = counter()
    return lambda x: x * Own.n, lambda: setattr(Meta, "n", new())


@case
def a_property():
    class Own:
        def __init__(self):
            self._n = 1.0

        @property
        def n(self):
            return self._n

    box, new = Own(), counter()
    return lambda x: x * box.n, lambda: setattr(box, "_n", new())


@case
def a_property_over_a_cell():
    n, new = 1.0, counter()

    class Own:
        @property
        def n(self):
            return n

    def change():
        nonlocal n
        n = new()

    box = Own()
    return lambda x: x * box.n, change


@case
def a_cached_property():
    class Own:
        start = 1.0

        @functools.cached_property
        def n(self):
            return self.start

    box, new = Own(), counter()

    def change():
        Own.start = new()
        del box.n

    return lambda x: x * box.n, change


@case
def a_descriptor():
    class Given:
        value = 1.0

        def __get__(self, instance, owner):
            return self.value

    class Own:
        n = Given()

    box, new = Own(), counter()
    return lambda x: x * box.n, lambda: setattr(vars(Own)["n"], "value", new())


@case
def a_getattr_of_its_own():
    class Own:
        def __init__(self):
            self.kept = {"n": 1.0}

        def __getattr__(self, name):
            return self.__dict__["kept"][name]

    box, new = Own(), counter()
    return lambda x: x * box.n, lambda: box.kept.update(n=new())


@case
def a_name_that_changes():
    box, name = Box(), "n"
    box.m, box.k = 2.0, 3.0
    names = iter(["m", "k"])

    def change():
        nonlocal name
        name = next(names)

    return lambda x: x * getattr(box, name), change


@case
def a_name_of_a_module_that_changes():
    module, name = made_module(a=1.0, b=2.0, c=3.0), "a"
    names = iter(["b", "c"])

    def change():
        nonlocal name
        name = next(names)

    return lambda x: x * getattr(module, name), change


@case
def an_attribute_of_a_module_under_a_name_in_a_variable():
    module, name, new = made_module(a=1.0), "a", counter()
    return lambda x: x * getattr(module, name), lambda: setattr(module, "a", new())


@case
def an_attrgetter():
    box, get, new = Box(), operator.attrgetter("n"), counter()
    return lambda x: x * get(box), lambda: setattr(box, "n", new())


@case
def a_slot():
    class Own:
        __slots__ = ("n",)

    box, new = Own(), counter()
    box.n = 1.0
    return lambda x: x * box.n, lambda: setattr(box, "n", new())


@case
def a_slot_that_is_filled_later():
    class Own:
        __slots__ = ("n",)

    box, new = Own(), counter()
    return lambda x: x * getattr(box, "n", 1.0), lambda: setattr(box, "n", new())


@case
def the_dict_of_an_object():
    box, new = Box(), counter()
    return lambda x: x * vars(box)["n"], lambda: box.__dict__.update(n=new())


@case
def a_dataclass_field():
    @dataclasses.dataclass
    class Own:
        n: float = 1.0

    box, new = Own(), counter()
    return lambda x: x * box.n, lambda: setattr(box, "n", new())


@case
def a_frozen_dataclass_field():
    @dataclasses.dataclass(frozen=True, slots=True)
    class Own:
        n: float = 1.0

    box, new = Own(), counter()
    return lambda x: x * box.n, lambda: object.__setattr__(box, "n", new())


@case
def an_enum_member():
    class Mode(enum.Enum):
        ONE = 1.0
        TWO = 2.0

    box = Box(Mode.ONE)
    modes = itertools.cycle([Mode.TWO, Mode.ONE])
    return lambda x: x * box.n.value, lambda: setattr(box, "n", next(modes))


@case
def the_value_of_an_enum_member():
    class Mode(enum.Enum):
        ONE = 1.0

    new = counter()
    return lambda x: x * Mode.ONE.value, lambda: setattr(Mode.ONE, "_value_", new())


@case
def a_named_tuple():
    class Pair(typing.NamedTuple):
        n: float

    box, new = Box(Pair(1.0)), counter()
    return lambda x: x * box.n.n, lambda: setattr(box, "n", Pair(new()))


@case
def a_list_inside_a_tuple():
    pair, new = ([1.0], 2.0), counter()
    return lambda x: x * pair[0][0], lambda: pair[0].__setitem__(0, new())


@case
def a_subclass_of_dict_with_attributes():
    class Config(dict):
        pass

    config, new = Config(), counter()
    config.n = 1.0
    return lambda x: x * config.n, lambda: setattr(config, "n", new())


@case
def a_simple_namespace():
    box, new = types.SimpleNamespace(n=1.0), counter()
    return lambda x: x * box.n, lambda: setattr(box, "n", new())


@case
def identity():
    one, other = Box(), Box()
    holder = [one]
    return lambda x: x * (2 if holder[0] is one else 3), lambda: holder.__setitem__(0, other)


@case
def identity_of_tensors():
    a, b = Tensor([1.0, 1.0]), Tensor([1.0, 1.0])
    holder, others = [a, a], itertools.cycle([b, a])
    return (
        lambda x: x * (2 if holder[0] is holder[1] else 3),
        lambda: holder.__setitem__(1, next(others)),
    )


@case
def captured_tensors_that_part():
    a, b = Tensor([1.0, 1.0]), Tensor([5.0, 5.0])
    holder, others = [a, a], itertools.cycle([b, a])
    return lambda x: x * holder[0] + holder[1], lambda: holder.__setitem__(1, next(others))


@case
def an_exception():
    table, new = {}, counter()

    def fn(x):
        try:
            return x * table["n"]
        except KeyError:
            return x

    return fn, lambda: table.update(n=new())


# ---- containers and callables


@case
def a_dict_deep_inside():
    table, new = {"a": {"b": [{"c": 1.0}]}}, counter()
    return lambda x: x * table["a"]["b"][0]["c"], lambda: table["a"]["b"][0].update(c=new())


@case
def the_order_of_a_dict():
    table = {"a": 1.0, "b": 2.0}

    def change():
        first = next(iter(table))
        table[first] = table.pop(first)

    return lambda x: x * next(iter(table.values())), change


@case
def a_set():
    chosen, new = {1.0}, counter()
    return lambda x: x * sum(chosen), lambda: chosen.add(new())


@case
def a_set_of_equal_things():
    chosen, others = {1}, iter([1.5, 2])

    def change():
        chosen.clear()
        chosen.add(next(others))

    return lambda x: x * next(iter(chosen)), change


@case
def a_deque():
    queue, new = collections.deque([1.0]), counter()
    return lambda x: x * queue[0], lambda: queue.appendleft(new())


@case
def a_queue_that_is_emptied_inside():
    queue = collections.deque(float(n) for n in range(1, 9))
    return lambda x: x * queue.popleft(), lambda: None


@case
def a_defaultdict_that_is_filled_inside():
    seen = collections.defaultdict(float)

    def fn(x):
        seen["n"] += 1
        return x * seen["n"]

    return fn, lambda: None


@case
def a_partial():
    table, new = {"n": 1.0}, counter()
    fn = functools.partial(lambda table, x: x * table["n"], table)
    return fn, lambda: table.update(n=new())


@case
def the_keywords_of_a_partial():
    fn = functools.partial(lambda x, n: x * n, n=1.0)
    new = counter()
    return lambda x: fn(x), lambda: fn.keywords.update(n=new())


@case
def a_bound_builtin():
    table, new = {"n": 1.0}, counter()
    get = table.get
    return lambda x: x * get("n"), lambda: table.update(n=new())


@case
def a_mapping_proxy():
    table, new = {"n": 1.0}, counter()
    proxy = types.MappingProxyType(table)
    return lambda x: x * proxy["n"], lambda: table.update(n=new())


@case
def the_values_of_a_dict():
    table, new = {"n": 1.0}, counter()
    values = table.values()
    return lambda x: x * sum(values), lambda: table.update(n=new())


@case
def a_cached_function():
    table, new = {"n": 1.0}, counter()

    @functools.lru_cache
    def cached():
        return table["n"]

    def change():
        table["n"] = new()
        cached.cache_clear()

    return lambda x: x * cached(), change


@case
def a_single_dispatch():
    @functools.singledispatch
    def scale(x):
        return 1.0

    new = counter()

    def change():
        by = new()
        scale.register(Tensor, lambda x: by)

    return lambda x: x * scale(x), change


@case
def a_wrapped_function():
    n, new = [1.0], counter()

    def wrap(fn):
        @functools.wraps(fn)
        def inner(x):
            return fn(x) * n[0]

        return inner

    return wrap(lambda x: x + 1), lambda: n.__setitem__(0, new())


@case
def a_callable_object():
    class Own:
        n: typing.ClassVar = [1.0]

        def __call__(self, x):
            return x * self.n[0]

    new = counter()
    return Own(), lambda: Own.n.__setitem__(0, new())


@case
def a_static_method():
    class Own:
        n = 1.0

        @staticmethod
        def scale():
            return Own.n

        @classmethod
        def also(cls):
            return cls.n

    new = counter()
    return lambda x: x * Own.scale() * Own.also(), lambda: setattr(Own, "n", new())


@case
def a_weak_reference():
    box, new = Box(), counter()
    reference = weakref.ref(box)
    return lambda x: x * reference().n, lambda: setattr(box, "n", new())


@case
def a_weak_reference_that_dies():
    box = [Box(2.0)]
    reference = weakref.ref(box[0])
    return lambda x: x if reference() is None else x * reference().n, box.clear


@case
def a_weak_dictionary():
    box, other = Box(1.0), Box(2.0)
    table = weakref.WeakValueDictionary(n=box)
    boxes = itertools.cycle([other, box])

    def fn(x):
        return x * table["n"].n

    return fn, lambda: table.update(n=next(boxes))


@case
def a_weak_proxy():
    box, new = Box(), counter()
    proxy = weakref.proxy(box)
    return lambda x: x * proxy.n, lambda: setattr(box, "n", new())


# ---- what goes from one container to the next


@case
def an_item_that_goes_from_a_list_to_the_next():
    first, second = [1, 2, 3], []
    return (
        lambda x: x * len(first) + 10 * len(second),
        lambda: second.insert(0, first.pop()),
    )


@case
def a_key_that_goes_from_a_dict_to_the_next():
    first, second = {"a": 1, "b": 1, "c": 1}, {}

    def change():
        name, value = first.popitem()
        rest = dict(second)
        second.clear()
        second.update({name: value, **rest})

    return lambda x: x * sum(first.values()) + 10 * sum(second.values()), change


@case
def an_item_that_goes_from_a_list_to_a_dict():
    first, second = [1, 2, 3], {0: 1, 1: 1, 2: 1}

    def change():
        values = [first.pop(), *list(second.values())[:-1]]
        second.update(zip(second, values, strict=True))

    return lambda x: x * sum(first) + 10 * sum(second.values()), change


@case
def a_list_whose_items_are_replaced_by_equal_ones_of_another_type():
    items = [1, 2]
    new = iter([[1.0, 2], [True, 2.0]])
    return lambda x: x * len(str(items)), lambda: items.__setitem__(slice(None), next(new))


@case
def a_list_inside_a_tuple_in_a_closure():
    held, new = ([1.0],), counter()
    return lambda x: x * held[0][0], lambda: held[0].__setitem__(0, new())


@case
def a_variable_of_a_closure_that_held_a_tuple():
    held, new = (1.0, 2.0), counter()

    def change():
        nonlocal held
        held = (1.0, new())

    return lambda x: x * held[1], change


@case
def a_tuple_of_a_class_with_its_own_iteration():
    class Turning(tuple):
        by: typing.ClassVar = [1.0]

        def __iter__(self):
            return iter([value * self.by[0] for value in tuple.__getitem__(self, slice(None))])

    pair, new = Turning((1.0, 2.0)), counter()
    return lambda x: x * sum(pair), lambda: Turning.by.__setitem__(0, new())


@case
def a_list_of_a_class_with_its_own_iteration():
    class Turning(list):
        def __iter__(self):
            return iter([value + 0.5 for value in list.__iter__(self)])

    items, new = Turning([1.0, 2.0]), counter()
    return lambda x: x * sum(items) + items[0], lambda: items.__setitem__(0, new())


@case
def a_dict_of_a_class_with_its_own_values():
    class Turning(dict):
        def values(self):
            return [value + 0.5 for value in dict.values(self)]

        def __iter__(self):
            return iter(["x"])

    items, new = Turning(a=1.0), counter()
    return lambda x: x * sum(items.values()) + items["a"], lambda: items.update(a=new())


@case
def the_order_of_an_ordered_dict():
    items = collections.OrderedDict(a=1.0, b=2.0, c=4.0)
    return lambda x: x * next(iter(items.values())), lambda: items.move_to_end(next(iter(items)))
