@T.prim_func(s_tir=True)
def orig(a: T.handle):
    A = T.match_buffer(a, (128, 128), strides=["A_s0", "A_s1"], dtype="float32")
    T.evaluate(A[0, 0])
