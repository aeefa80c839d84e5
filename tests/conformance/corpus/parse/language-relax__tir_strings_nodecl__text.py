@T.prim_func(s_tir=True)
def f(A: T.Buffer(("n", "n * 2"), "float32"), B: T.Buffer(("T.max(n, 1)",), "float32")):
    for i in range(A.shape[0]):
        A[i, 0] = 1.0
