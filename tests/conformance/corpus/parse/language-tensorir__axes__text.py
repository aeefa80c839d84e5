@T.prim_func(s_tir=True)
def f(A: T.Buffer((128, 128), "float32"), n: T.int32):
    for i, j, k in T.grid(128, 128, 4):
        with T.sblock("b"):
            vi = T.axis.spatial(128, i)
            vj = T.axis.spatial((0, 128), j)
            vk = T.axis.reduce((1, 5), k + 1)
            vs = T.axis.scan(128, i)
            vo = T.axis.opaque(128, j)
            A[vi, vj] = A[vi, vj] + 1.0
    for i, j in T.grid(n, n + 1):
        with T.sblock("c"):
            vi, vj = T.axis.remap("SR", [i, j])
            A[vi, vj] = 1.0
        with T.sblock("d"):
            v = T.axis.remap("S", [i])
            w = T.axis.spatial([0, 128], j)
            x = T.axis.spatial(128, 0)
            y = T.axis.spatial(128, n, dtype="int32")
            A[v, w] = 2.0
        with T.sblock("e"):
            vi, vj = T.axis.spatial(128, i), T.axis.reduce(128, j)
            A[vi, vj] = 2.0
