"""One program with a node for each row of aten_op.def, and the values that PyTorch defines for them, worked out here in
plain Python. Usage: pt2_operators.py FOLDER [OPERATOR...]: writes operators.pt2 and operators.npz, of all rows or some.
Users: tests/run.d/39-pt2."""
import io
import math
import os
import re
import struct
import sys
import zipfile

from pt2_archives import A, BOOL, FLOAT, LONG, Program, members, write

INT, DOUBLE, HALF = 4, 8, 6
NPY = {FLOAT: ("<f4", "f"), LONG: ("<i8", "q"), BOOL: ("|b1", "?"), INT: ("<i4", "i"), DOUBLE: ("<f8", "d"),
       HALF: ("<f2", "e")}

INPUTS = {
    "x": ([2, 3], FLOAT, [-2, -1, -0.5, 0.5, 1, 2]),
    "u": ([2, 3], FLOAT, [-0.9, -0.5, -0.1, 0.2, 0.5, 0.8]),
    "p": ([2, 3], FLOAT, [1, 2, 3, 4, 5, 6]),
    "t": ([2, 3], FLOAT, [-4, -1, -0.25, 0.75, 3, 8]),
    "q": ([2, 3], FLOAT, [3, 2, 1, 1, 2, -4]),
    "s": ([], FLOAT, [1.5]),
    "n": ([2, 3], LONG, [-7, -2, 0, 3, 4, 7]),
    "m": ([2, 3], LONG, [2, 3, 5, -2, 3, 2]),
    "b": ([2, 3], BOOL, [True, False, True, False, False, True]),
    "d": ([2, 3], BOOL, [True, True, False, False, True, True]),
    "odd": ([4], FLOAT, [math.nan, math.inf, -math.inf, 1]),
    "four": ([4], FLOAT, [1, 2, 3, 4]),
    "v": ([3], FLOAT, [1, -1, 2]),
    "i": ([2], LONG, [2, 0]),
    "g": ([2, 2], LONG, [0, 2, 1, 1]),
    "c": ([3, 2], FLOAT, [1, 2, 3, 4, 5, 6]),
    "batch": ([2, 2, 3], FLOAT, list(range(12))),
    "right": ([2, 3, 1], FLOAT, [1, 0, 2, 1, 1, 1]),
    "bias3": ([2, 2, 1], FLOAT, [1, 2, 3, 4]),
    "line": ([1, 2, 4], FLOAT, [1, 2, 3, 4, 5, 6, 7, 8]),
    "picture": ([1, 2, 2, 4], FLOAT, list(range(16))),
    "cube": ([1, 1, 2, 2, 2], FLOAT, list(range(8))),
    "w1": ([2, 2, 2], FLOAT, [1, 0, 0, 1, 1, 1, 1, 1]),
    "w2": ([1, 2, 2, 2], FLOAT, [1, 0, 0, 1, 0, 1, 1, 0]),
    "w3": ([1, 1, 2, 2, 2], FLOAT, [1] * 8),
    "two": ([2], FLOAT, [10, 20]),
    "half": ([2], HALF, [0.5, 2]),
    "k": ([2, 2], LONG, [0, 2, 1, 0]),
    "pixels": ([1, 4, 1, 2], FLOAT, list(range(8))),
    "middle2": ([1, 1, 1, 2], FLOAT, [0, 0]),
    "middle3": ([1, 1, 1, 1, 3], FLOAT, [0, 0, 0]),
}
LISTS = ("split", "split_with_sizes", "chunk", "unbind", "meshgrid")  # their result is a list of tensors
# Rows without a tensor as their result: `sizes` of pt2_archives.py has them.
ELSEWHERE = {"sym_size.int", "_assert_scalar.default", "_assert_tensor_metadata.default", "sym_constrain_range.default",
             "sym_constrain_range_for_size.default"}
rows = []  # node, target, shape, dtype, arguments, values


def flat(name):
    return INPUTS[name][2]


def node(target, shape, values, dtype=FLOAT, /, **arguments):
    several = isinstance(dtype, list)
    name = "y%d" % len(rows)
    rows.append(([name + "_%d" % k for k in range(len(shape))] if several else name, target, shape, dtype, arguments,
                 values))


def each(target, function, operand="x", dtype=FLOAT, /, **arguments):
    shape = INPUTS[operand][0]
    node(target, shape, [function(a) for a in flat(operand)], dtype, self="%" + operand, **arguments)


def pairs(target, function, a="x", b="q", dtype=FLOAT, /, second="other", **arguments):
    node(target, [2, 3], [function(i, j) for i, j in zip(flat(a), flat(b))], dtype, self="%" + a,
         **{second: "%" + b}, **arguments)


def elementwise():
    each("abs.default", abs)
    each("neg.default", lambda a: -a)
    each("ceil.default", math.ceil)
    each("floor.default", math.floor)
    each("round.default", round, "x")
    each("sign.default", lambda a: (a > 0) - (a < 0))
    each("relu.default", lambda a: max(a, 0))
    each("isnan.default", math.isnan, "odd", BOOL)
    each("isinf.default", math.isinf, "odd", BOOL)
    each("isfinite.default", math.isfinite, "odd", BOOL)
    each("selu.default", lambda a: 1.0507009873554805 * (a if a > 0 else 1.6732632423543772 * math.expm1(a)))
    each("hardswish.default", lambda a: a * min(max(a + 3, 0), 6) / 6)
    each("softsign.default", lambda a: a / (1 + abs(a)))
    each("mish.default", lambda a: a * math.tanh(math.log1p(math.exp(a))))
    each("bitwise_not.default", lambda a: ~a, "n", LONG)
    each("bitwise_not.default", lambda a: not a, "b", BOOL)
    for name in ("acos", "asin", "atan", "atanh", "cos", "cosh", "erf", "exp", "sin", "sinh", "tan", "tanh", "asinh"):
        each(name + ".default", getattr(math, name), "u")
    for name in ("acosh", "log", "sqrt"):
        each(name + ".default", getattr(math, name), "p")
    each("exp.default", math.exp, "n")
    for name in ("log2", "log10"):
        each(name + ".default", getattr(math, name), "p")
    each("softplus.default", lambda a: math.log1p(math.exp(a)), "t")
    each("trunc.default", math.trunc, "t")
    each("sigmoid.default", lambda a: 1 / (1 + math.exp(-a)))
    each("reciprocal.default", lambda a: 1 / a)
    each("rsqrt.default", lambda a: 1 / math.sqrt(a), "p")
    each("square.default", lambda a: a * a)
    each("logical_not.default", lambda a: not a, "n", BOOL)
    each("silu.default", lambda a: a / (1 + math.exp(-a)))
    each("gelu.default", lambda a: a * (1 + math.erf(a / math.sqrt(2))) / 2)
    each("gelu.default", lambda a: a / 2 * (1 + math.tanh(math.sqrt(2 / math.pi) * (a + 0.044715 * a ** 3))),
         approximate="tanh")
    each("leaky_relu.default", lambda a: a if a > 0 else 0.01 * a)
    each("leaky_relu.default", lambda a: a if a > 0 else 0.25 * a, negative_slope=0.25)
    each("elu.default", lambda a: a if a > 0 else 2 * math.expm1(a), alpha=2.0)
    each("celu.default", lambda a: max(a, 0) + min(0, 2 * math.expm1(a / 2)), alpha=2.0)
    node("prelu.default", [2, 3], [-2, 1, -1, 0.5, 1, 2], self="%x", weight="%v")
    each("softshrink.default", lambda a: a - 0.75 if a > 0.75 else a + 0.75 if a < -0.75 else 0, lambd=0.75)
    each("expm1.default", math.expm1, "u")
    each("log1p.default", math.log1p, "u")
    each("hardsigmoid.default", lambda a: min(max(a + 3, 0), 6) / 6)
    each("hardtanh.default", lambda a: min(max(a, -1), 1))
    each("relu6.default", lambda a: min(max(a, 0), 6), "q")
    each("clamp.default", lambda a: min(max(a, -1), 0.5), min=-1, max=0.5)
    each("clamp.default", lambda a: max(a, 1), "n", LONG, min=1)
    each("clamp.default", lambda a: min(max(a, 2 ** 53 + 1), 2 ** 53 + 3), "n", LONG, min=2 ** 53 + 1, max=2 ** 53 + 3)
    each("clamp.default", lambda a: min(max(a, -1.5), 1.5), "n", FLOAT, min=-1.5, max=1.5)
    each("clamp_min.default", lambda a: max(a, 0.25), min=0.25)
    each("clamp_max.default", lambda a: min(a, 0.25), max=0.25)


# The tensor that is changed is a copy without an expected value of its own.
def changed(target, values, /, **arguments):
    node("clone.default", [2, 3], None, self="%t")
    node(target, [2, 3], values, self="%" + rows[-1][0], **arguments)


def in_place():
    for target, function in (("relu_", lambda a: max(a, 0)), ("hardswish_", lambda a: a * min(max(a + 3, 0), 6) / 6),
                             ("silu_", lambda a: a / (1 + math.exp(-a))),
                             ("leaky_relu_", lambda a: a if a > 0 else 0.01 * a),
                             ("hardtanh_", lambda a: min(max(a, -1), 1)), ("relu6_", lambda a: min(max(a, 0), 6)),
                             ("sigmoid_", lambda a: 1 / (1 + math.exp(-a))), ("tanh_", math.tanh)):
        changed(target + ".default", [function(a) for a in flat("t")])
    for target, function in (("add_", lambda a, b: a + b), ("sub_", lambda a, b: a - b), ("mul_", lambda a, b: a * b),
                             ("div_", lambda a, b: a / b)):
        changed(target + ".Tensor", [function(a, b) for a, b in zip(flat("t"), flat("q"))], other="%q")
    changed("clamp_.default", [min(max(a, -3), 2) for a in flat("t")], min=-3, max=2)
    changed("masked_fill_.Scalar", [7 if b else a for a, b in zip(flat("t"), flat("b"))], mask="%b", value=7)
    changed("dropout_.default", None, p=0.5, train=False)
    used()
    changed("detach_.default", None)
    used()


# The last result is its operand, which has no value of its own: what is made of it has.
def used(operand="t"):
    number = len(rows)
    name = rows[-1][0]
    node("add.Scalar", INPUTS[operand][0], [a + number for a in flat(operand)], self="%" + name, other=number)


def binary():
    pairs("add.Tensor", lambda a, b: a + 2 * b, alpha=2)
    pairs("add.Tensor", lambda a, b: a + b, "x", "n")  # of two types
    pairs("add.Tensor", lambda a, b: a + b, "n", "m", LONG)
    each("add.Scalar", lambda a: a + 2, other=2)
    each("add.Tensor", lambda a: a + 2.5, "n", other=2.5)
    each("add.Tensor", lambda a: a + 1.5, "n", other="%s")  # a tensor of rank 0 is of another category
    pairs("sub.Tensor", lambda a, b: a - b)
    each("sub.Scalar", lambda a: a - 2, "n", LONG, other=2)
    pairs("mul.Tensor", lambda a, b: a * b)
    each("mul.Scalar", lambda a: a * 0.5, other=0.5)
    for name, function in (("eq", lambda a, b: a == b), ("ne", lambda a, b: a != b), ("ge", lambda a, b: a >= b),
                           ("gt", lambda a, b: a > b), ("le", lambda a, b: a <= b), ("lt", lambda a, b: a < b)):
        pairs(name + ".Tensor", function, "p", "q", BOOL)
        each(name + ".Scalar", lambda a: function(a, 3), "p", BOOL, other=3)
    for name, function in (("max", max), ("min", min)):
        pairs(name + "imum.default", function)
        pairs(name + ".other", function)
    pairs("remainder.Tensor", lambda a, b: a % b)
    pairs("remainder.Tensor", lambda a, b: a % b, "n", "m", LONG)
    each("remainder.Scalar", lambda a: a % 3, "n", LONG, other=3)
    each("remainder.Scalar", lambda a: a % 1.5, other=1.5)
    for name, of_truth, of_bits in (("and", lambda a, b: bool(a and b), lambda a, b: a & b),
                                    ("or", lambda a, b: bool(a or b), lambda a, b: a | b),
                                    ("xor", lambda a, b: bool(a) != bool(b), lambda a, b: a ^ b)):
        pairs("logical_%s.default" % name, of_truth, "n", "d", BOOL)
        for target in ("bitwise_%s.", "__%s__."):
            pairs(target % name + "Tensor", of_bits, "n", "m", LONG)
            pairs(target % name + "Tensor", of_truth, "b", "d", BOOL)
            each(target % name + "Scalar", lambda a: of_bits(a, 3), "n", LONG, other=3)
    pairs("fmod.Tensor", math.fmod)
    pairs("fmod.Tensor", lambda a, b: int(math.fmod(a, b)), "n", "m", LONG)
    each("fmod.Scalar", lambda a: math.fmod(a, 1.5), other=1.5)
    pairs("div.Tensor", lambda a, b: a / b)
    pairs("div.Tensor", lambda a, b: a / b, "n", "m")
    each("div.Scalar", lambda a: a / 4, other=4)
    for rounding, function in (("floor", math.floor), ("trunc", math.trunc)):
        pairs("div.Tensor_mode", lambda a, b: function(a / b), rounding_mode=rounding)
        pairs("div.Tensor_mode", lambda a, b: function(a / b), "n", "m", LONG, rounding_mode=rounding)
    pairs("floor_divide.default", lambda a, b: a // b, "n", "m", LONG)
    pairs("rsub.Tensor", lambda a, b: b - a)
    each("rsub.Scalar", lambda a: 1 - a, other=1)
    each("pow.Tensor_Scalar", lambda a: a ** 0.5, "p", exponent=0.5)
    each("pow.Tensor_Scalar", lambda a: a ** 3, "n", LONG, exponent=3)
    pairs("pow.Tensor_Tensor", lambda a, b: a ** b, "p", "x", second="exponent")
    node("where.self", [2, 3], [x if b else q for b, x, q in zip(flat("b"), flat("x"), flat("q"))], condition="%b",
         self="%x", other="%q")
    node("masked_fill.Scalar", [2, 3], [9 if b else x for b, x in zip(flat("b"), flat("x"))], self="%x", mask="%b",
         value=9)
    node("masked_fill.Tensor", [2, 3], [1.5 if b else x for b, x in zip(flat("b"), flat("x"))], self="%x", mask="%b",
         value="%s")


def copies():
    for name in ("alias", "detach", "contiguous", "lift_fresh_copy", "clone"):
        node(name + ".default", [2, 3], None, self="%t")
        used()
    node("dropout.default", [2, 3], None, self="%t", p=0.5, train=False)
    used()
    each("_to_copy.default", lambda a: a, "n", DOUBLE, dtype=DOUBLE)
    each("to.dtype", math.trunc, "x", LONG, dtype=LONG)
    each("to.dtype_layout", bool, "n", BOOL, dtype=BOOL)
    each("to.dtype", lambda a: a, "half", FLOAT, dtype=FLOAT)
    each("type_as.default", lambda a: a, "n", FLOAT, other="%x")


def shapes():
    p = flat("p")
    for name, key in (("view", "size"), ("reshape", "shape"), ("_unsafe_view", "size")):
        node(name + ".default", [3, 2], p, self="%p", **{key: [3, -1]})
    turned = [p[0], p[3], p[1], p[4], p[2], p[5]]
    node("permute.default", [3, 2], turned, self="%p", dims=[-1, 0])
    node("transpose.int", [3, 2], turned, self="%p", dim0=0, dim1=-1)
    node("t.default", [3, 2], turned, self="%p")
    node("numpy_T.default", [3, 2], turned, self="%p")
    node("unsqueeze.default", [2, 3, 1], p, self="%p", dim=-1)
    node("squeeze.default", [2, 4], flat("line"), self="%line")
    node("squeeze.dim", [2, 4], flat("line"), self="%line", dim=0)
    node("squeeze.dim", [1, 2, 4], None, self="%line", dim=1)
    used("line")
    node("squeeze.dims", [2, 4], flat("line"), self="%line", dim=[0, 1])
    node("flatten.using_ints", [4, 3], flat("batch"), self="%batch", end_dim=1)
    for name in ("expand", "broadcast_to"):
        node(name + ".default", [2, 2, 3], p + p, self="%p", size=[2, -1 if name == "expand" else 2, 3])
    node("split_with_sizes.default", [[2, 1], [2, 2]], [[1, 4], [2, 3, 5, 6]], [FLOAT, FLOAT], self="%p",
         split_sizes=[1, 2], dim=1)
    node("split.Tensor", [[2, 2], [2, 1]], [[1, 2, 4, 5], [3, 6]], [FLOAT, FLOAT], self="%p", split_size=2, dim=-1)
    node("chunk.default", [[2, 2], [2, 1]], [[1, 2, 4, 5], [3, 6]], [FLOAT, FLOAT], self="%p", chunks=2, dim=1)
    node("unbind.int", [[2], [2], [2]], [[1, 4], [2, 5], [3, 6]], [FLOAT] * 3, self="%p", dim=-1)
    node("unflatten.int", [1, 2, 2, 2], flat("line"), self="%line", dim=-1, sizes=[-1, 2])
    node("select.int", [3], p[3:], self="%p", dim=0, index=-1)
    node("slice.Tensor", [2, 2], [1, 3, 4, 6], self="%p", dim=1, start=0, end=9223372036854775807, step=2)
    node("slice.Tensor", [2, 1], [2, 5], self="%p", dim=1, start=-2, end=-1)
    node("repeat.default", [2, 2, 3], p + p, self="%p", repeats=[2, 1, 1])
    node("cat.default", [2, 6], [1, 2, 3, -7, -2, 0, 4, 5, 6, 3, 4, 7], tensors=["%p", "%n"], dim=-1)
    node("concat.default", [4, 3], p + flat("q"), tensors=["%p", "%q"])
    node("stack.default", [2, 3, 2], [z for pair in zip(p, flat("q")) for z in pair], tensors=["%p", "%q"], dim=-1)
    node("flip.default", [2, 3], p[::-1], self="%p", dims=[0, 1])
    node("flip.default", [2, 3], None, self="%p", dims=[])  # PyTorch flips no axis
    used("p")
    node("narrow.default", [2, 2], [2, 3, 5, 6], self="%p", dim=1, start=1, length=2)
    node("tile.default", [2, 6], [1, 2, 3, 1, 2, 3, 4, 5, 6, 4, 5, 6], self="%p", dims=[2])
    node("scatter.src", [2, 3], [1, 2, 2, 4, 3, 6], self="%p", dim=1, index="%k", src="%c")  # a part of `c`
    node("scatter.value", [2, 3], [9, 2, 9, 4, 9, 6], self="%p", dim=1, index="%g", value=9)
    node("sort.default", [[2, 3], [2, 3]], [[1, 2, 3, -4, 1, 2], [2, 1, 0, 2, 0, 1]], [FLOAT, LONG], self="%q")
    node("sort.default", [[2, 3], [2, 3]], [[3, 2, 1, 1, 2, -4], [0, 0, 0, 1, 1, 1]], [FLOAT, LONG], self="%q", dim=0,
         descending=True)
    node("argsort.default", [2, 3], [2, 1, 0, 2, 0, 1], LONG, self="%q")
    for kind, first in (("reflection", 1), ("replication", 0)):
        line, picture, cube = flat("line"), flat("picture"), flat("cube")
        rows_of = [line[:4], line[4:]]
        node(kind + "_pad1d.default", [1, 2, 5], [z for r in rows_of for z in [r[first]] + r], self="%line",
             padding=[1, 0])
        channels = [[picture[8 * k:8 * k + 4], picture[8 * k + 4:8 * k + 8]] for k in (0, 1)]
        node(kind + "_pad2d.default", [1, 2, 3, 5],
             [z for image in channels for r in [image[first]] + image for z in [r[first]] + r], self="%picture",
             padding=[1, 0, 1, 0])
        node(kind + "_pad3d.default", [1, 1, 2, 2, 3],
             [z for i in range(0, 8, 2) for z in (cube[i + first], cube[i], cube[i + 1])], self="%cube",
             padding=[1, 0, 0, 0, 0, 0])
    node("any.default", [], [True], BOOL, self="%n")
    node("any.dim", [2], [True, True], BOOL, self="%b", dim=1)
    node("all.default", [], [False], BOOL, self="%n")
    node("all.dim", [1, 3], [False, False, True], BOOL, self="%b", dim=0, keepdim=True)
    node("gather.default", [2, 2], [1, 3, 5, 5], self="%p", dim=1, index="%g")
    node("index_select.default", [2, 2], [3, 1, 6, 4], self="%p", dim=1, index="%i")
    node("embedding.default", [2, 2], [5, 6, 1, 2], weight="%c", indices="%i")
    node("index.Tensor", [2, 2], [5, 6, 1, 2], self="%c", indices=["%i"])
    node("index.Tensor", [2, 2], [3, 1, 6, 4], self="%p", indices=[None, "%i"])
    node("tril.default", [2, 3], [1, 0, 0, 4, 5, 0], self="%p")
    node("triu.default", [2, 3], [0, 2, 3, 0, 0, 6], self="%p", diagonal=1)
    node("constant_pad_nd.default", [3, 5], [9, 1, 2, 3, 9, 9, 4, 5, 6, 9] + [9] * 5, self="%p", pad=[1, 1, 0, 1],
         value=9.0)
    node("pad.default", [1, 2, 6], [2, 1, 2, 3, 4, 3, 6, 5, 6, 7, 8, 7], self="%line", pad=[1, 1], mode="reflect")
    node("pad.default", [1, 2, 6], [1, 1, 2, 3, 4, 4, 5, 5, 6, 7, 8, 8], self="%line", pad=[1, 1], mode="replicate")
    node("pad.default", [1, 2, 6], [4, 1, 2, 3, 4, 1, 8, 5, 6, 7, 8, 5], self="%line", pad=[1, 1], mode="circular")


def written():
    node("index.Tensor", [2], [2, 4], self="%p", indices=["%zero_one", "%one_zero"])
    node("index.Tensor", [1, 2], [2, 8], self="%line", indices=[None, "%zero_one", "%one_three"])
    node("index_put.default", [2, 3], [1, 10, 3, 20, 5, 6], self="%p", indices=["%zero_one", "%one_zero"], values="%two")
    node("index_put.default", [2, 3], [1, 12, 3, 24, 5, 6], self="%p", indices=["%zero_one", "%one_zero"], values="%two",
         accumulate=True)
    node("index_put.default", [2, 3], [10, 2, 20, 10, 5, 20], self="%p", indices=[None, "%zero_two"], values="%two")
    node("index_put.default", [2, 3], [1.5, 2, 1.5, 4, 5, 1.5], self="%p", indices=["%b"], values="%s")
    changed("index_put_.default", [a if k != 5 else 1.5 for k, a in enumerate(flat("t"))], indices=["%one_place", "%two_place"],
            values="%s")


def taps(n, m, scale, kind):
    """The weights of the elements of one axis: of nearest, linear, cubic; with the corners aligned."""
    rows = []
    for i in range(m):
        if kind == "nearest":
            rows.append({min(int(i / scale), n - 1): 1.0})
            continue
        at = i * (n - 1) / (m - 1) if kind == "corners" else (i + 0.5) / scale - 0.5
        if kind != "cubic":
            at = min(max(at, 0), n - 1)
        low, row = math.floor(at), {}
        f = at - low
        a = -0.75
        near = lambda d: (a + 2) * d ** 3 - (a + 3) * d ** 2 + 1
        far = lambda d: a * d ** 3 - 5 * a * d ** 2 + 8 * a * d - 4 * a
        weights = {-1: far(1 + f), 0: near(f), 1: near(1 - f), 2: far(2 - f)} if kind == "cubic" else {0: 1 - f, 1: f}
        for k, w in weights.items():
            j = min(max(low + k, 0), n - 1)
            row[j] = row.get(j, 0) + w
        rows.append(row)
    return rows


def resized(shape, values, sizes, scales, kind):
    for axis in range(2, len(shape)):
        rows = taps(shape[axis], sizes[axis - 2], scales[axis - 2], kind)
        inner = math.prod(shape[axis + 1:])
        outer = math.prod(shape[:axis])
        n = shape[axis]
        values = [sum(w * values[(o * n + j) * inner + k] for j, w in row.items())
                  for o in range(outer) for row in rows for k in range(inner)]
        shape = shape[:axis] + [sizes[axis - 2]] + shape[axis + 1:]
    return shape, values


def resizing():
    for name, operand, kind in (("nearest1d", "line", "nearest"), ("nearest2d", "picture", "nearest"),
                                ("nearest3d", "cube", "nearest"), ("linear1d", "line", "linear"),
                                ("bilinear2d", "picture", "linear"), ("trilinear3d", "cube", "linear"),
                                ("bicubic2d", "picture", "cubic")):
        shape, values = INPUTS[operand][0], flat(operand)
        spatial = shape[2:]
        sizes = [2 * n for n in spatial]
        corners = {} if kind == "nearest" else {"align_corners": False}
        to, made = resized(shape, values, sizes, [2] * len(sizes), kind)
        node("upsample_%s.vec" % name, to, made, input="%" + operand, output_size=None,
             scale_factors=[2.0] * len(sizes), **corners)
        sizes = [n + 1 for n in spatial]
        to, made = resized(shape, values, sizes, [m / n for m, n in zip(sizes, spatial)], kind)
        node("upsample_%s.default" % name, to, made, self="%" + operand, output_size=sizes, **corners)
    to, made = resized([1, 2, 2, 4], flat("picture"), [3, 7], [1, 1], "corners")
    node("upsample_bilinear2d.vec", to, made, input="%picture", output_size=[3, 7], align_corners=True,
         scale_factors=None)


def sigmoid(a):
    return 1 / (1 + math.exp(-a))


def cell(kind, x, h, c, w, r, b):
    """One step of a layer whose hidden size is 1; w, r, b by gate: (weight of the input, of the state, sum of biases)"""
    parts = [(x * w[k], h * r[k], b[0][k], b[1][k]) for k in range(len(w))]
    if kind == "lstm":
        i, f, g, o = (sum(p) for p in parts)
        c = sigmoid(f) * c + sigmoid(i) * math.tanh(g)
        return sigmoid(o) * math.tanh(c), c
    if kind == "gru":
        reset, update = sigmoid(sum(parts[0])), sigmoid(sum(parts[1]))
        n = math.tanh(parts[2][0] + parts[2][2] + reset * (parts[2][1] + parts[2][3]))
        return (1 - update) * n + update * h, c
    total = sum(parts[0])
    return math.tanh(total) if kind == "rnn_tanh" else max(total, 0), c


def recurrent():
    """Sequences of three steps, one batch, one number; two layers in both directions, and one layer with batch first."""
    for kind, gates in (("lstm", 4), ("gru", 3), ("rnn_tanh", 1), ("rnn_relu", 1)):
        names = ["r_w%d" % gates, "r_r%d" % gates, "r_a%d" % gates, "r_b%d" % gates]
        w, r, a, b = (flat(n) for n in names)
        wide = "r_x%d" % gates
        steps = flat("r_steps")
        for bidirectional in (True, False):
            ways = 2 if bidirectional else 1
            out, last_h, last_c, params = [[v] for v in steps], [], [], []
            for layer in range(2 if bidirectional else 1):
                found = [[] for _ in steps]
                for way in range(ways):
                    h, c = (flat("r_h" if bidirectional else "r_h1")[layer * ways + way],
                            flat("r_c" if bidirectional else "r_c1")[layer * ways + way])
                    order = range(3) if way == 0 else reversed(range(3))
                    for t in order:
                        x = out[t]
                        # Of the second layer both numbers have the same weights.
                        h, c = cell(kind, sum(x), h, c, w, r, (a, b))
                        found[t].append(h)
                    last_h.append(h)
                    last_c.append(c)
                    params += ["%" + (names[0] if layer == 0 else wide)] + ["%" + n for n in names[1:]]
                out = found
            shape = [3, 1, ways] if bidirectional else [1, 3, 1]
            states = [len(last_h), 1, 1]
            hx = (["%r_h", "%r_c"] if bidirectional else ["%r_h1", "%r_c1"]) if kind == "lstm" else (
                "%r_h" if bidirectional else "%r_h1")
            shapes, values, types = [shape, states], [[v for row in out for v in row], last_h], [FLOAT, FLOAT]
            if kind == "lstm":
                shapes, values, types = shapes + [states], values + [last_c], types + [FLOAT]
            node(kind + ".input", shapes, values, types, input="%r_steps" if bidirectional else "%r_first", hx=hx,
                 params=params, has_biases=True, num_layers=2 if bidirectional else 1, dropout=0.0, train=False,
                 bidirectional=bidirectional, batch_first=not bidirectional)


def made():
    node("full.default", [2, 2], [7] * 4, LONG, size=[2, 2], fill_value=7, dtype=LONG)
    for name, value in (("ones", 1), ("zeros", 0)):
        node(name + ".default", [2], [value] * 2, size=[2])
        node("new_%s.default" % name, [2], [value] * 2, self="%x", size=[2])
        node(name + "_like.default", [2, 3], [value] * 6, LONG, self="%n")
    node("full_like.default", [2, 3], [0.5] * 6, self="%x", fill_value=0.5)
    for value in (2 ** 53 + 1, 2 ** 63 - 1):  # no float64 is that number
        node("full.default", [1], [value], LONG, size=[1], fill_value=value, dtype=LONG)
    node("full.default", [2], [True] * 2, BOOL, size=[2], fill_value=True, dtype=BOOL)
    node("arange.default", [4], [0, 1, 2, 3], LONG, end=4)
    node("arange.start", [2], [2, 3], LONG, start=2, end=4)
    node("arange.start_step", [3], [0, 0.5, 1], start=0, end=1.5, step=0.5)


def products():
    node("linear.default", [2, 2], [24, 52, 42, 97], input="%p", weight="%w_linear", bias="%two")
    node("matmul.default", [2, 2], [22, 28, 49, 64], self="%p", other="%c")
    node("matmul.default", [2], [5, 11], self="%p", other="%v")
    node("mm.default", [2, 2], [22, 28, 49, 64], self="%p", mat2="%c")
    node("bmm.default", [2, 2, 1], [4, 13, 21, 30], self="%batch", mat2="%right")
    node("addmm.default", [2, 2], [2 * 22 + 5, 2 * 28 + 10, 2 * 49 + 5, 2 * 64 + 10], self="%two", mat1="%p", mat2="%c",
         beta=0.5, alpha=2)
    node("baddbmm.default", [2, 2, 1], [5, 15, 24, 34], self="%bias3", batch1="%batch", batch2="%right")


def layers():
    node("conv1d.default", [1, 2, 3], [1 + 6 + 10, 2 + 7 + 10, 3 + 8 + 10, 14 + 20, 18 + 20, 22 + 20], input="%line",
         weight="%w1", bias="%two")
    node("conv1d.padding", [1, 2, 4], [7, 9, 11, 4, 14, 18, 22, 12], input="%line", weight="%w1", padding="same")
    node("conv2d.default", [1, 1, 1, 2], [0 + 5 + 9 + 12, 2 + 7 + 11 + 14], input="%picture", weight="%w2",
         stride=[1, 2])
    node("conv2d.padding", [1, 1, 1, 3], [26, 30, 34], input="%picture", weight="%w2", padding="valid")
    node("convolution.default", [1, 1, 1, 3], [26, 30, 34], input="%picture", weight="%w2", bias=None, stride=[1, 1],
         padding=[0, 0], dilation=[1, 1], transposed=False, output_padding=[0, 0], groups=1)
    node("conv3d.default", [1, 1, 1, 1, 1], [28], input="%cube", weight="%w3")
    node("conv_transpose1d.default", [1, 2, 5], transposed_line(), input="%line", weight="%w1")
    node("conv_transpose2d.input", [1, 1, 2, 2], [1.5, 0, 0, 1.5], input="%one", weight="%w_one")
    node("max_pool1d.default", [1, 2, 2], [2, 4, 6, 8], self="%line", kernel_size=[2])
    node("max_pool2d.default", [1, 2, 1, 2], [5, 7, 13, 15], self="%picture", kernel_size=[2, 2], stride=[2, 2])
    node("max_pool2d.default", [1, 2, 1, 2], [6, 7, 14, 15], self="%picture", kernel_size=[2, 3], stride=[2, 2],
         ceil_mode=True)
    node("max_pool3d.default", [1, 1, 1, 1, 1], [7], self="%cube", kernel_size=[2, 2, 2])
    node("avg_pool1d.default", [1, 2, 3], [0.5, 2.5, 2, 2.5, 6.5, 4], self="%line", kernel_size=[2], stride=[2],
         padding=[1])
    node("avg_pool1d.default", [1, 2, 3], [1, 2.5, 4, 5, 6.5, 8], self="%line", kernel_size=[2], stride=[2],
         padding=[1], count_include_pad=False)
    # With `ceil_mode` the last window may be cut off: it is divided by its part that is data or padding. The last case
    # has no third window: it would begin in the padding.
    node("avg_pool1d.default", [1, 2, 2], [2, 4, 6, 8], self="%line", kernel_size=[3], stride=[3], ceil_mode=True)
    node("avg_pool1d.default", [1, 2, 3], [1, 3, 2, 11 / 3, 7, 4], self="%line", kernel_size=[3], stride=[2],
         padding=[1], ceil_mode=True)
    node("avg_pool1d.default", [1, 2, 2], [0.5, 3.5, 2.5, 7.5], self="%line", kernel_size=[2], stride=[3], padding=[1],
         ceil_mode=True)
    node("avg_pool2d.default", [1, 2, 1, 2], [2.5, 4.5, 10.5, 12.5], self="%picture", kernel_size=[2, 2])
    node("avg_pool3d.default", [1, 1, 1, 1, 1], [3.5], self="%cube", kernel_size=[2, 2, 2])
    node("adaptive_avg_pool1d.default", [1, 2, 2], [1.5, 3.5, 5.5, 7.5], self="%line", output_size=[2])
    for name in ("adaptive_avg_pool2d", "_adaptive_avg_pool2d"):
        node(name + ".default", [1, 2, 1, 2], [2.5, 4.5, 10.5, 12.5], self="%picture", output_size=[1, 2])
    node("adaptive_avg_pool3d.default", [1, 1, 1, 1, 1], [3.5], self="%cube", output_size=[1, 1, 1])
    line = flat("line")
    scaled = [(a - 10) / math.sqrt(100 + 1e-3) * 10 + 10 for a in line[:4]] + [
        (a - 20) / math.sqrt(400 + 1e-3) * 20 + 20 for a in line[4:]]
    stats = dict(running_mean="%two", running_var="%squares", momentum=0.1, eps=1e-3)
    node("batch_norm.default", [1, 2, 4], scaled, input="%line", weight="%two", bias="%two", training=False,
         cudnn_enabled=True, **stats)
    node("_native_batch_norm_legit_no_training.default", [[1, 2, 4], [0], [0]],
         [[(a - 10) / math.sqrt(100 + 1e-3) for a in line[:4]] + [(a - 20) / math.sqrt(400 + 1e-3) for a in line[4:]],
          None, None], [FLOAT] * 3, input="%line", weight=None, bias=None, **stats)
    ones = normal(line[:4], 1e-5) + normal(line[4:], 1e-5)
    node("instance_norm.default", [1, 2, 4], ones, input="%line", use_input_stats=True, momentum=0.1, eps=1e-5)
    node("pixel_shuffle.default", [1, 1, 2, 4], [0, 2, 1, 3, 4, 6, 5, 7], self="%pixels", upscale_factor=2)
    node("grid_sampler_2d.default", [1, 2, 1, 1], [3.5, 11.5], input="%picture", grid="%middle2",
         interpolation_mode=0, padding_mode=0, align_corners=True)
    node("grid_sampler_3d.default", [1, 1, 1, 1, 1], [3.5], input="%cube", grid="%middle3", interpolation_mode=0,
         padding_mode=1, align_corners=False)
    node("einsum.default", [2, 2], [22, 28, 49, 64], equation="ij,jk->ik", tensors=["%p", "%c"])
    node("var.correction", [2], [1, 1], self="%p", dim=[1], correction=1)
    node("var.dim", [2, 1], [2 / 3, 2 / 3], self="%p", dim=[1], unbiased=False, keepdim=True)
    node("std.correction", [], [math.sqrt(35 / 12)], self="%p", correction=0)
    node("std.dim", [3], [math.sqrt(4.5)] * 3, self="%p", dim=[0])
    node("layer_norm.default", [1, 2, 4], ones, input="%line", normalized_shape=[4])
    node("native_layer_norm.default", [[1, 2, 4], [1, 2, 1], [1, 2, 1]], [ones, None, None], [FLOAT] * 3,
         input="%line", normalized_shape=[4], weight=None, bias=None, eps=1e-5)
    node("group_norm.default", [1, 2, 4], [10 * a + 10 for a in normal(line, 1e-5)[:4]] + [
        20 * a + 20 for a in normal(line, 1e-5)[4:]], input="%line", num_groups=1, weight="%two", bias="%two")
    shares = [math.exp(a) / sum(map(math.exp, row)) for row in (flat("x")[:3], flat("x")[3:]) for a in row]
    node("softmax.int", [2, 3], shares, self="%x", dim=-1)
    node("_softmax.default", [2, 3], shares, self="%x", dim=1, half_to_float=False)
    node("log_softmax.int", [2, 3], [math.log(a) for a in shares], self="%x", dim=-1)
    node("_log_softmax.default", [2, 3], [math.log(a) for a in shares], self="%x", dim=1, half_to_float=False)
    node("scaled_dot_product_attention.default", [2, 3], attention(1 / math.sqrt(3)), query="%p", key="%q", value="%x")
    node("scaled_dot_product_attention.default", [2, 3], attention(0.5, [True, False, True, True]), query="%p",
         key="%q", value="%x", attn_mask="%square", scale=0.5)
    node("scaled_dot_product_attention.default", [2, 3], attention(1, [True, False, True, True]), query="%p", key="%q",
         value="%x", dropout_p=0.0, is_causal=True, scale=1.0)


def transposed_line():
    line, w = flat("line"), flat("w1")  # w1[in][out][k]
    out = [0] * 10
    for i in range(2):
        for o in range(2):
            for at in range(4):
                for k in range(2):
                    out[o * 5 + at + k] += line[i * 4 + at] * w[i * 4 + o * 2 + k]
    return out


def normal(values, eps):
    mean = sum(values) / len(values)
    spread = sum((a - mean) ** 2 for a in values) / len(values)
    return [(a - mean) / math.sqrt(spread + eps) for a in values]


def attention(scale, mask=None):
    p, q, x = ([flat(n)[:3], flat(n)[3:]] for n in "pqx")
    out = []
    for i in range(2):
        scores = [sum(a * b for a, b in zip(p[i], q[j])) * scale for j in range(2)]
        if mask:
            scores = [s if mask[2 * i + j] else -math.inf for j, s in enumerate(scores)]
        shares = [math.exp(s - max(scores)) for s in scores]
        out += [sum(shares[j] / sum(shares) * x[j][k] for j in range(2)) for k in range(3)]
    return out


def reductions():
    x = flat("x")
    node("sum.default", [], [sum(x)], self="%x")
    node("sum.default", [], [3], LONG, self="%b")
    node("sum.dim_IntList", [2, 1], [-3.5, 3.5], self="%x", dim=[1], keepdim=True)
    node("mean.default", [], [0], self="%x")
    node("mean.dim", [3], [-0.75, 0, 0.75], self="%x", dim=[0])
    node("prod.default", [], [-1], self="%x")
    node("amax.default", [2], [-0.5, 2], self="%x", dim=[-1])
    node("amin.default", [], [-2], self="%x")
    node("max.default", [], [2], self="%x")
    node("min.default", [], [-2], self="%x")
    node("logsumexp.default", [2], [math.log(sum(map(math.exp, row))) for row in (x[:3], x[3:])], self="%x", dim=[1])
    node("argmax.default", [2], [0, 1], LONG, self="%q", dim=1)
    node("argmin.default", [], [5], LONG, self="%q")
    node("argmin.default", [1, 1], [5], LONG, self="%q", keepdim=True)
    node("max.dim", [[2, 1], [2, 1]], [[3, 2], [0, 1]], [FLOAT, LONG], self="%q", dim=1, keepdim=True)
    node("min.dim", [[2], [2]], [[1, -4], [2, 2]], [FLOAT, LONG], self="%q", dim=1)
    node("cumsum.default", [2, 3], [1, 3, 6, 4, 9, 15], self="%p", dim=1)
    node("topk.default", [[2, 2], [2, 2]], [[3, 2, 2, 1], [0, 1, 1, 0]], [FLOAT, LONG], self="%q", k=2)
    node("topk.default", [[2, 1], [2, 1]], [[1, -4], [2, 2]], [FLOAT, LONG], self="%q", k=1, largest=False)


def places_and_sizes():
    p = flat("p")
    node("outer.default", [3, 2], [a * b for a in (1, -1, 2) for b in (10, 20)], self="%v", vec2="%two")
    node("logaddexp.default", [2, 3], [math.log(math.exp(a) + math.exp(b)) for a, b in zip(flat("x"), flat("q"))],
         self="%x", other="%q")
    node("logaddexp.default", [4], [math.nan, math.inf, -math.inf, 1 + math.log(2)], self="%odd", other="%odd")
    node("logaddexp.default", [4], [math.nan, math.inf, 3, math.log(math.e + math.e ** 4)], self="%odd", other="%four")
    node("logaddexp.default", [4], [math.nan, math.inf, 3, math.log(math.e + math.e ** 4)], self="%four", other="%odd")
    node("pow.Scalar", [2, 3], [2.0 ** a for a in flat("x")], self=2.0, exponent="%x")
    node("clamp.Tensor", [2, 3], [max(a, b) for a, b in zip(flat("x"), flat("q"))], self="%x", min="%q")
    node("clamp.Tensor", [4], [math.nan, math.inf, 3, 4], self="%four", min="%odd")
    node("clamp.Tensor", [4], [math.nan, 2, -math.inf, 1], self="%four", max="%odd")
    node("clamp.Tensor", [4], [math.nan, 2, 3, 4], self="%odd", min="%four", max="%four")
    node("expand_as.default", [2, 3], [1, -1, 2] * 2, self="%v", other="%x")
    for target in ("reshape_as.default", "view_as.default"):
        node(target, [3, 2], p, self="%p", other="%c")
    node("copy.default", [2, 3], [1, -1, 2] * 2, self="%x", src="%v")
    node("meshgrid.default", [[2, 3], [2, 3]], [[10] * 3 + [20] * 3, [1, -1, 2] * 2], [FLOAT, FLOAT],
         tensors=["%two", "%v"])
    node("meshgrid.indexing", [[3, 2], [3, 2]], [[10, 20] * 3, [1, 1, -1, -1, 2, 2]], [FLOAT, FLOAT],
         tensors=["%two", "%v"], indexing="xy")
    node("roll.default", [2, 3], [6, 1, 2, 3, 4, 5], self="%p", shifts=[1])
    node("roll.default", [2, 3], [5, 6, 4, 2, 3, 1], self="%p", shifts=[1, -1], dims=[0, 1])
    node("roll.default", [2, 3], [2, 3, 1, 5, 6, 4], self="%p", shifts=[5], dims=[1])
    node("take.default", [2, 2], [1, 3, 2, 1], self="%p", index="%numbers")
    node("slice_scatter.default", [2, 3], [10, 2, 20, 10, 5, 20], self="%p", src="%pairs", dim=1, start=0, end=3, step=2)
    node("slice_scatter.default", [2, 3], [1, 10, 20, 4, 10, 20], self="%p", src="%pairs", dim=1, start=-2)
    node("fill.Scalar", [2, 3], [7] * 6, self="%x", value=7)
    changed("fill_.Scalar", [7] * 6, value=7)
    changed("zero_.default", [0] * 6)
    changed("copy_.default", [1, -1, 2] * 2, src="%v")
    node("scalar_tensor.default", [], [2.5], s=2.5)
    node("eye.default", [2, 2], [1, 0, 0, 1], n=2)
    node("eye.m", [2, 3], [1, 0, 0, 0, 1, 0], n=2, m=3)
    node("linspace.default", [5], [-1, -0.5, 0, 0.5, 1], start=-1, end=1, steps=5)
    node("linspace.default", [1], [3], start=3, end=9, steps=1)
    turns = [2 * math.pi * i / 4 for i in range(4)]
    node("hamming_window.default", [4], [0.54 - 0.46 * math.cos(t) for t in turns], window_length=4)
    node("hamming_window.periodic", [4], [0.54 - 0.46 * math.cos(t * 4 / 3) for t in turns], window_length=4,
         periodic=False)
    node("hamming_window.periodic_alpha", [4], [0.5 - 0.46 * math.cos(t) for t in turns], window_length=4,
         periodic=True, alpha=0.5)
    node("hamming_window.periodic_alpha_beta", [4], [0.5 - 0.25 * math.cos(t) for t in turns], window_length=4,
         periodic=True, alpha=0.5, beta=0.25)
    node("one_hot.default", [2, 4], [0, 0, 1, 0, 1, 0, 0, 0], LONG, self="%classes", num_classes=4)
    node("max_pool2d_with_indices.default", [[1, 2, 1, 2], [1, 2, 1, 2]], [[5, 7, 13, 15], [5, 7, 5, 7]],
         [FLOAT, LONG], self="%picture", kernel_size=[2, 2])
    node("max_pool3d_with_indices.default", [[1, 1, 1, 1, 1], [1, 1, 1, 1, 1]], [[7], [7]], [FLOAT, LONG],
         self="%cube", kernel_size=[2, 2, 2])
    node("_adaptive_avg_pool1d.default", [1, 2, 1], [2.5, 6.5], self="%line", output_size=[1])
    node("_adaptive_avg_pool3d.default", [1, 1, 1, 1, 1], [3.5], self="%cube", output_size=[1, 1, 1])
    scale = 1 / math.sqrt(1.25 + 1e-5)
    group = [(a - 1.5) * scale for a in range(4)]
    node("native_group_norm.default", [[1, 4, 1, 2], [1, 2], [1, 2]],
         [[(c + 1) * group[2 * c % 4 + k] + c + 1 for c in range(4) for k in range(2)], [1.5, 5.5], [scale, scale]],
         [FLOAT] * 3, input="%pixels", weight="%four", bias="%four", N=1, C=4, HxW=2, group=2, eps=1e-5)
    node("affine_grid_generator.default", [1, 2, 2, 2], [-1, -1, 1, -1, -1, 1, 1, 1], theta="%turn", size=[1, 1, 2, 2],
         align_corners=True)
    node("torchvision.roi_align.default", [1, 2, 1, 1], [3.5, 11.5], input="%picture", rois="%region",
         spatial_scale=1.0, pooled_height=1, pooled_width=1, sampling_ratio=2, aligned=True)
    losses = [math.log(sum(map(math.exp, row))) for row in ([-2, -1, -0.5], [0.5, 1, 2])]
    node("cross_entropy_loss.default", [], [(losses[0] + 0.5 + losses[1] - 0.5) / 2], self="%x", target="%classes")
    node("cross_entropy_loss.default", [2], [losses[0] + 0.5, losses[1] - 0.5], self="%x", target="%classes", reduction=0)
    node("linalg_vector_norm.default", [2], [math.sqrt(14), math.sqrt(77)], self="%p", dim=[1])
    node("linalg_vector_norm.default", [1, 1], [21], self="%p", ord=1, keepdim=True)
    node("linalg_vector_norm.default", [], [sum(a ** 3 for a in p) ** (1 / 3)], self="%p", ord=3.0)
    node("linalg_vector_norm.default", [], [5], self="%with_zero", ord=0.0)
    node("any.dims", [2], [True, True], BOOL, self="%b", dim=[1])
    node("all.dims", [], [False], BOOL, self="%b", dim=[0, 1])
    node("cumprod.default", [2, 3], [1, 2, 6, 4, 20, 120], self="%p", dim=1)
    smooth = [(0.75 * 2 + 0.75 * 3 + 0.25 * 4) / 1.75, (0.25 * 3 + 0.75 * 4 + 0.75 * 5) / 1.75]
    node("_upsample_bilinear2d_aa.default", [1, 2, 1, 2], smooth + [a + 8 for a in smooth], input="%picture",
         output_size=[1, 2], align_corners=False)
    for target, other, function in (("Scalar", 1, [a | 1 for a in flat("whole")]),
                                    ("Tensor", "%m", [a | b for a, b in zip(flat("whole"), flat("m"))])):
        node("clone.default", [2, 3], None, LONG, self="%whole")
        node("bitwise_or_." + target, [2, 3], function, LONG, self="%" + rows[-1][0], other=other)



def npy(dtype, shape, values):
    descr, code = NPY[dtype]
    head = "{'descr': '%s', 'fortran_order': False, 'shape': (%s), }" % (descr, "".join("%d, " % d for d in shape))
    head += " " * (-(len(head) + 11) % 64) + "\n"
    return b"\x93NUMPY\1\0" + struct.pack("<H", len(head)) + head.encode() + struct.pack(
        "<%d%s" % (len(values), code), *values)


def called(target):
    return ("torch.ops." if target.startswith("torchvision.") else A) + target


def rows_of_table():
    with open(os.path.join(os.path.dirname(__file__), "../../src/onnx/aten/aten_op.def")) as f:
        return set(re.findall(r'^RLDB_ATEN_(?:OP|OP_OWN|VIEW)\("aten", "([^"]*)"', f.read(), re.M))


def main(folder):
    INPUTS["w_linear"] = ([2, 3], FLOAT, [1, 2, 3, 4, 5, 6])
    INPUTS["one"] = ([1, 1, 1, 1], FLOAT, [1.5])
    INPUTS["w_one"] = ([1, 1, 2, 2], FLOAT, [1, 0, 0, 1])
    INPUTS["squares"] = ([2], FLOAT, [100, 400])
    INPUTS["square"] = ([2, 2], BOOL, [True, False, True, True])
    for name, values in (("zero_one", [0, 1]), ("one_zero", [1, 0]), ("one_three", [1, 3]), ("zero_two", [0, 2]),
                         ("one_place", [1]), ("two_place", [-1])):
        INPUTS[name] = ([len(values)], LONG, values)
    INPUTS["r_steps"] = ([3, 1, 1], FLOAT, [0.5, -1, 2])
    INPUTS["r_first"] = ([1, 3, 1], FLOAT, [0.5, -1, 2])
    INPUTS["r_h"], INPUTS["r_c"] = ([4, 1, 1], FLOAT, [0.1, -0.2, 0.3, 0.4]), ([4, 1, 1], FLOAT, [0.5, 0.25, -0.5, 0])
    INPUTS["r_h1"], INPUTS["r_c1"] = ([1, 1, 1], FLOAT, [0.1]), ([1, 1, 1], FLOAT, [0.5])
    for gates in (4, 3, 1):
        first = [0.5, -0.75, 1, 0.25][:gates]
        INPUTS["r_w%d" % gates] = ([gates, 1], FLOAT, first)
        INPUTS["r_x%d" % gates] = ([gates, 2], FLOAT, [v for v in first for _ in range(2)])
        INPUTS["r_r%d" % gates] = ([gates, 1], FLOAT, [0.3, 0.6, -0.9, 0.2][:gates])
        INPUTS["r_a%d" % gates] = ([gates], FLOAT, [0.1, 0.2, 0.3, -0.4][:gates])
        INPUTS["r_b%d" % gates] = ([gates], FLOAT, [-0.05, 0.15, 0.25, 0.35][:gates])
    INPUTS["pairs"] = ([2, 2], FLOAT, [10, 20, 10, 20])
    INPUTS["turn"] = ([1, 2, 3], FLOAT, [1, 0, 0, 0, 1, 0])
    INPUTS["region"] = ([1, 5], FLOAT, [0, 1, 0, 3, 2])
    INPUTS["with_zero"] = ([2, 3], FLOAT, [-1, 0, 2, 3, 4, 5])
    INPUTS["numbers"], INPUTS["classes"] = ([2, 2], LONG, [0, 2, 1, 0]), ([2], LONG, [2, 0])
    INPUTS["whole"] = ([2, 3], LONG, [1, 2, 4, 6, 8, 0])
    for family in (elementwise, in_place, binary, copies, shapes, written, resizing, recurrent, made, products, layers,
                   reductions, places_and_sizes):
        family()
    only = sys.argv[2:]
    program, found = Program(), {}
    for name, (shape, dtype, values) in INPUTS.items():
        program.input(name, shape, dtype)
        found[name] = npy(dtype, shape, values)
    for name, target, shape, dtype, arguments, values in rows:
        if only and target not in only and not target.startswith("clone"):
            continue
        for n, t, s, v in zip(name, dtype, shape, values) if isinstance(name, list) else [(name, dtype, shape, values)]:
            if v is None:
                continue
            found[n] = npy(t, s, v)
        if isinstance(name, list) and target.split(".")[0] not in LISTS:  # several results, not one list
            program.several(name, called(target), shape, dtype, **arguments)
        else:
            program.node(name, called(target), shape, dtype[0] if isinstance(dtype, list) else dtype, **arguments)
        for n, v in zip(name, values) if isinstance(name, list) else [(name, values)]:
            if v is not None:
                program.output(n)
    write(folder + "/operators.pt2", members(program))
    with zipfile.ZipFile(folder + "/operators.npz", "w") as z:
        for name, data in found.items():
            z.writestr(name + ".npy", data)
    left = rows_of_table() - {target for _, target, *_ in rows} - ELSEWHERE
    if left and not only:
        sys.exit("rows of aten_op.def without a value here: " + " ".join(sorted(left)))


if __name__ == "__main__":
    main(sys.argv[1])
