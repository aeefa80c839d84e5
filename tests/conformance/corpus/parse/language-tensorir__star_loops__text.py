@T.prim_func(s_tir=True)
def f(A: T.Buffer((8, 8, 8), "float32")):
    for ijk in T.grid(8, 8, 8):
        A[ijk] = 1.0
    for i, *jk in T.grid(8, 8, 8):
        A[i, *jk] = 1.0
    for *ij, k in T.grid(8, 8, 8):
        A[(*ij, k)] = 1.0
    dims = (8, 8, 8)
    for iters in T.grid(*dims):
        A[iters] = 2.0
    for iters in T.grid(*A.shape):
        A[*iters] = 2.0
    for iters in T.grid(*A.shape, 4):
        with T.sblock("x"):
            *vs, vr = T.axis.remap("SSSR", iters)
            A[*vs] = 2.0
    for iters in T.grid(*A.shape):
        with T.sblock("x"):
            vs = T.axis.remap("SSS", iters)
            A[vs] = 2.0
