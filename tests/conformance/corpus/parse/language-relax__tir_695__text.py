@T.prim_func(s_tir=True)
def f[n, m: int](A: T.Buffer((n, m), "float32")):
    for i, j in T.grid(n, m):
        with T.sblock("b"):
            vi, vj = T.axis.remap("SS", [i, j])
            A[vi, vj] = 1.0
