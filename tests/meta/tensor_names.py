"""The names a Tensor must have: the vocabulary users of such tensors know, as data."""

ATTRIBUTES = "shape dtype device ndim T grad requires_grad uop"

GROUPS = {
    "build": """full full_like zeros zeros_like ones ones_like empty empty_like arange linspace eye
        const_like""",
    "from outside": "from_blob",
    "random": """manual_seed rand rand_like randn randn_like randint normal uniform scaled_uniform
        glorot_uniform kaiming_uniform kaiming_normal randperm multinomial dropout""",
    "realize": """realize schedule schedule_with_vars contiguous contiguous_backward clone replace
        assign""",
    "read out": "data item tolist numpy nbytes numel size element_size is_floating_point",
    "device": "to to_ shard shard_ shard_like",
    "autograd": "backward gradient detach requires_grad_",
    "modes": "train training no_grad",
    "dtype": "cast bitcast float half bfloat16 double int long short bool",
    "movement": """reshape expand permute flip shrink pad stack shrink_to pad_to view squeeze
        unsqueeze transpose flatten unflatten rearrange split chunk cat meshgrid diag diagonal roll
        repeat repeat_interleave unfold triu tril""",
    "unary": """neg reciprocal sqrt rsqrt square exp exp2 log log2 log10 sin cos tan asin acos atan
        sinh cosh tanh asinh acosh atanh erf abs sign ceil floor round trunc logical_not bitwise_not
        isnan isinf isfinite""",
    "binary": """add sub mul div mod fmod pow maximum minimum copysign logaddexp bitwise_and
        bitwise_or bitwise_xor lshift rshift eq ne isclose where masked_fill lerp clamp
        clip threefry idiv""",
    "activations": """relu relu6 leaky_relu elu celu selu sigmoid hardsigmoid hardswish hardtanh
        silu swish gelu quick_gelu softplus softsign mish logsigmoid""",
    "reduce": """sum prod max min any all mean var std var_mean std_mean logsumexp normalize argmax
        argmin allclose""",
    "softmax": "softmax log_softmax softmin",
    "scan": "cumsum cumprod cummax cummin logcumsumexp",
    "sort": "sort argsort topk",
    "index": "gather scatter scatter_reduce masked_select nonzero one_hot",
    "linear algebra": "dot matmul einsum linear qr svd",
    "convolution": """conv2d conv_transpose2d avg_pool2d max_pool2d max_unpool2d interpolate""",
    "norm": "layernorm batchnorm scaled_dot_product_attention",
    "losses": """binary_crossentropy binary_crossentropy_logits sparse_categorical_crossentropy
        cross_entropy nll_loss""",
    "other": "sequential alu",
}

ASKED_FOR = {
    "elementwise": """atan2 expm1 log1p hypot erfinv lgamma digamma nan_to_num logit sinc""",
    "statistics": "median mode quantile unique histc bincount searchsorted nanmean",
    "picking": "index_select take_along_dim index_add masked_scatter",
    "movement": "unbind movedim swapaxes tile rot90 narrow tensor_split vstack hstack",
    "products": "outer inner tensordot kron cross trace bmm cdist",
    "linear algebra": """inv solve det slogdet cholesky eigh eig lstsq matrix_power pinv""",
    "fourier": "fft",
    "losses": "mse_loss l1_loss huber_loss smooth_l1_loss kl_div cosine_similarity",
    "layers": "adaptive_avg_pool2d adaptive_max_pool2d fold pixel_shuffle glu",
    "random": "bernoulli poisson exponential gamma",
}

OPERATORS = "add sub mul truediv floordiv mod pow matmul and or xor lshift rshift"
OTHER_METHODS = "__neg__ __invert__ __abs__ __lt__ __le__ __gt__ __ge__ __eq__ __ne__ __getitem__"
OTHER_METHODS += " __setitem__ __len__ __iter__ __bool__ __int__ __float__ __index__"
