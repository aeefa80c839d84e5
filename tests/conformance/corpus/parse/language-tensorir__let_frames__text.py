@T.prim_func(s_tir=True)
def f(A: T.Buffer((16,), "float32"), n: T.int32):
    x: T.let[T.int32] = n + 1
    y: T.let = T.float32(2) * A[0]
    s: T.let = "str"
    for i in range(x):
        z: T.let[T.int64] = T.Cast("int64", i)
        A[z] = y
    T.evaluate(T.Let(x + n, where={x: 3}))
    w = T.Let(n * 2, where={n: x})
    A[0] = T.Cast("float32", w)
