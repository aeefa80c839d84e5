@T.prim_func(s_tir=True)
def func(a: T.handle):
    A = T.match_buffer(a, (200,), "float32")
    A[T.Ramp(11, 2, 4 * T.vscale())] = T.Broadcast(125, 4 * T.vscale())
