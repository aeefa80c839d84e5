@T.prim_func(s_tir=True)
def f(A: T.Buffer((4,), "float32")):
    with T.attr(0, "hand_threaded", 0):
        A[0] = 1.0
    T.attr([A, A], "buffer_bind_scope", T.tvm_tuple(0, 4))
    with T.attr("x", "k", "v"):
        A[0] = 1.0
    with T.attr(T.address_of(A[0]), "q", 1):
        A[0] = 1.0
    A[1] = 1.0
