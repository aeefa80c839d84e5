@T.prim_func(s_tir=True)
def f(A: T.Buffer((4, 4), "float32")):
    dims = [4 for _ in range(2)]
    B = T.sblock_alloc_buffer(dims, "float32")
    C = T.sblock_alloc_buffer([d * 2 for d in dims])
    for i, j in T.grid(*dims):
        B[i, j] = A[i, j]
    C[tuple([0, 1])] = 1.0
