@T.prim_func(s_tir=True)
def f(A: T.Buffer((T.int64(16), T.int64(1)), "float32")):
    for i in range(16):
        with T.sblock("b"):
            vi = T.axis.spatial(T.int64(16), T.Cast("int64", i))
            T.reads(A[vi, 0])
            T.writes(A[vi, 0:1])
            A[vi, 0] = A[vi, T.int64(0)] + T.float32(1)
    for i in range(T.int64(2), T.int64(16)):
        A[i, 0] = 1.0
    for i, j in T.grid(T.int64(2), T.int64(16)):
        A[j, 0] = A[i, 0]
