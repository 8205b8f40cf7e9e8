"""Programs of every kind of kernel, on tensors large enough for threads, blocks and tiles.

`x` and `y` are (300, 517), `image` (4, 8, 32, 32), `filters` (16, 8, 3, 3), `places` are rows of x.
"""

PROGRAMS = {
    "pointwise": "(x * y + 0.3).tanh().exp()",
    "rows": "(x * y).sum(1)",
    "columns": "(x * y).sum(0)",
    "extremes": "x.max(1) + y.min(1)",
    "everything": "(x.exp() * y).sum()",
    "mean and variance": "x.var() + y.mean()",
    "product of matrices": "x @ y.T",
    "product with a vector": "x @ y[0]",
    "product of halves": "(x[:64].half() @ y[:64].half().T).float()",
    "convolution": "image.conv2d(filters, padding=1)",
    "pooling": "image.max_pool2d((2, 2)) + image.avg_pool2d((2, 2))",
    "scatter_add": "x.scatter_add(0, places, y)",
    "gather": "x.gather(1, places)",
    "index": "x[places[0]]",
    "sort": "x.sort(1)[0]",
    "sort of one long row": "x.flatten().argsort(0).float()",
    "scan": "x.cumsum(1) + y.cumsum(0)",
    "scan of one long row": "x.flatten().cumsum(0)",
    "softmax": "x.softmax(1)",
    "layernorm": "x.layernorm(1)",
    "transpose": "x.T.contiguous() + 1",
    "attention": "image.scaled_dot_product_attention(image, image)",
}
