@T.prim_func(s_tir=True)
def f(A: T.Buffer((128, 128), "float32")):
    for i in range(1, 128):
        with T.sblock("b"):
            vi = T.axis.S(T.Range(1, 128), i)
            vj = T.axis.S((1, 128), i)
            A[vi, vj] = 1.0
