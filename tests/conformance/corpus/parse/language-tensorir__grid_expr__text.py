@T.prim_func(s_tir=True)
def f(A: T.Buffer((16, 16), "float32"), n: T.int32):
    for i, j in T.grid(n * 2 + 1, T.max(n, 4)):
        A[i, j] = 1.0
    for i, j in T.grid(T.int64(4), 8):
        A[i, j] = 1.0
    for i in T.grid(n):
        for j in T.grid(i + 1):
            A[i, j] = 0.0
    for i0, j0, i1, j1 in T.grid(4, 4, 4, 4):
        with T.sblock("b"):
            vi = T.axis.spatial(16, i0 * 4 + i1)
            vj = T.axis.spatial(16, j0 * 4 + j1)
            T.where(i0 * 4 + i1 < n and j0 * 4 + j1 < n)
            A[vi, vj] = A[vi, vj]
