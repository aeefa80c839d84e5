@T.prim_func(s_tir=True)
def f(A: T.Buffer(("n", "n * 2"), "float32"), B: T.Buffer(("T.max(n, 1)",), "float32")):
    n = T.int32()
    for i, j in T.grid(n, n * 2):
        with T.sblock("b"):
            vi, vj = T.axis.remap("SS", [i, j])
            A[vi, vj] = 1.0
