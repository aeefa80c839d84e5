@R.function
def f(x: R.Tensor(("n", "m"), "float32"), s: R.Shape(["n", "k"])) -> R.Shape(["n * 2", "k"]):
    n, m, k = T.int64(), T.int64(), T.int64()
    a = R.shape([n * 2, k])
    b: R.Shape([n, m]) = R.shape_of(x)
    c = R.reshape(x, R.shape([m, n]))
    d = R.reshape(x, (n * m,))
    e: R.Shape(ndim=2) = a
    g = R.zeros(e, "float32")
    h: R.Tensor((n * m,), "float32") = d
    i = R.full(a, R.const(0, "int32"), "int32")
    j = R.match_cast(g, R.Tensor((n, k), "float32"))
    l = R.prim_value(n * m)
    o: T.int64 = n + m
    p = R.arange(n, m, 1, "int64")
    q = R.strided_slice(x, (0,), (0,), (n // 2,))
    return a
