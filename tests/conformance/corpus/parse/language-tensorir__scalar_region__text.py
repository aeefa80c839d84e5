@T.prim_func(s_tir=True)
def f(A: T.Buffer((10, 16), "int8"), B: T.Buffer((4,), "int32")):
    u: T.int8x4 = A[0, 0:4]
    i: T.int32 = T.reinterpret(u, dtype="int32")
    v = A[0, 0:16]
    B[0] = i
    r = A[0, :]
