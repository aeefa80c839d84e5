@T.prim_func(s_tir=True)
def func(w: T.Buffer((1, 1, 3, 3), "float32"), p: T.Buffer((1,), "float32")) -> None:
    for i in T.grid(1):
        with T.sblock("b"):
            vi = T.axis.S(1, i)
            p[vi] = T.max(T.float32("-inf"), w[0, 0, 0, vi])
            p[vi] = T.float32("nan")
            p[vi] = T.infinity("float32")
            p[vi] = T.float64("inf")
