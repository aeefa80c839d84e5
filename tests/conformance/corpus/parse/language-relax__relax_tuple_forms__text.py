@R.function
def f(x: R.Tuple(R.Tensor((2,), "float32"), R.Tuple(R.Tensor((3,), "int8"), R.Shape([2])))) -> R.Tensor((3,), "int8"):
    a, b = x
    c = b[0]
    (d, e) = b
    g = (a, (c, d), ())
    h = g[1]
    i, j = h
    k = (R.add(i, j), R.const(1))[0]
    return k
