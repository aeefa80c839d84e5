@T.prim_func(s_tir=True)
def orig(a: T.handle):
    s0 = T.int32()
    s1 = T.int32()
    A = T.match_buffer(a, (128, 128), strides=[s0, s1], dtype="float32")
    T.evaluate(A[0, 0])
