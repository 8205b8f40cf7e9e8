"""Laws that hold of every module, on generated ones."""

from hypothesis import given, settings
from hypothesis import strategies as st

from adjoint.module import GradientOptions, canonicalise, differentiate, parse, verify

SHAPES = ((), (2,), (3, 2), (1, 2), (2, 3))


class Writer:
    """Writes instructions whose types it knows."""

    def __init__(self, draw):
        self.draw, self.lines, self.values = draw, [], []

    def add(self, body, shape):
        number = len(self.lines) * 3 % 1000 + len(self.lines)  # distinct, neither dense nor sorted
        self.lines.append(f"%{number} = {body} : Tensor<f32, {list(shape)}>")
        self.values.append((number, shape))

    def pick(self, wanted=lambda shape: True):
        fitting = [v for v in self.values if wanted(v[1])]
        return self.draw(st.sampled_from(fitting)) if fitting else None

    def binary(self):
        a, shape = self.pick()
        found = self.pick(lambda other: other == shape or not other)
        if found is not None:
            op = self.draw(st.sampled_from(("Add", "Sub", "Mul", "Div")))
            self.add(f"BinOp({op}, %{a}, %{found[0]})", shape)

    def unary(self):
        a, shape = self.pick()
        self.add(f"{self.draw(st.sampled_from(('Neg', 'Exp', 'Relu', 'Log')))}(%{a})", shape)

    def reduction(self):
        a, shape = self.pick(len) if any(s for _, s in self.values) else self.pick()
        op, kept = self.draw(st.sampled_from(("Sum", "Mean"))), self.draw(st.booleans())
        axes = self.draw(st.lists(st.integers(0, max(len(shape) - 1, 0)), unique=True, max_size=2))
        axes = axes if shape else []
        signed = [x - len(shape) if self.draw(st.booleans()) else x for x in axes]
        out = (
            ()
            if not axes
            else tuple(1 if i in axes else n for i, n in enumerate(shape) if kept or i not in axes)
        )
        self.add(f"{op}(%{a}, {signed}, {str(kept).lower()})", out)

    def layout(self):
        found = self.pick(lambda shape: len(shape) == 2)
        if found is None:
            return
        a, shape = found
        way = self.draw(st.integers(0, 4))
        if way == 0:
            self.add(f"Transpose(%{a}, [1, 0])", shape[::-1])
        elif way == 1:
            self.add(f"Reshape(%{a}, [-1])", (shape[0] * shape[1],))
        elif way == 2:
            self.add(f"ExpandDims(%{a}, [-1])", (*shape, 1))
        elif way == 3:
            self.add(f"Slice(%{a}, [0:1, 0:{shape[1]}:1])", (1, shape[1]))
        else:
            self.add(f"Softmax(%{a}) {{axis: -1}}", shape)

    def product(self):
        found = self.pick(lambda shape: len(shape) == 2)
        if found is not None:
            a, (m, k) = found
            other = self.pick(lambda shape: len(shape) == 2 and shape[0] == k)
            if other is not None:
                self.add(f"MatMul(%{a}, %{other[0]})", (m, other[1][1]))

    def constant(self):
        value = self.draw(st.floats(-8, 8, width=32))
        self.add(f"ConstF32({value!r})", ())


@st.composite
def texts(draw):
    """A module with a scalar output."""
    w = Writer(draw)
    for i in range(draw(st.integers(1, 3))):
        w.add(f'Input() {{name: "x{i}"}}', draw(st.sampled_from(SHAPES)))
    steps = (w.binary, w.unary, w.reduction, w.layout, w.product, w.constant)
    for _ in range(draw(st.integers(0, 14))):
        draw(st.sampled_from(steps))()
    a, _ = w.pick()
    w.add(f"Sum(%{a}, [], false)", ())
    return "\n".join([*w.lines, f"outputs: %{w.values[-1][0]}"])


@settings(max_examples=150, deadline=None)
@given(texts())
def test_printing_reading_and_canonicalising_settle(text):
    module = parse(text)
    assert parse(module.text()).text() == module.text()
    once = canonicalise(module)
    assert canonicalise(once).text() == once.text()
    assert parse(once.text()).text() == once.text()


@settings(max_examples=150, deadline=None)
@given(texts())
def test_a_gradient_is_canonical_and_comes_out_the_same_again(text):
    result = differentiate(parse(text))
    made = result.gradient_module
    verify(made)
    assert canonicalise(made).text() == made.text()
    assert parse(made.text()).text() == made.text()
    again = differentiate(parse(text), options=GradientOptions(verify=False))
    assert again.gradient_module.text() == made.text()
    assert again.gradients == result.gradients
    inputs = [ins.id for ins in made.inputs]
    assert made.outputs[1:] == tuple(result.gradients[i] for i in inputs)
