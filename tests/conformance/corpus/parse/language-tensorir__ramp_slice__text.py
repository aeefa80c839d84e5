@T.prim_func(s_tir=True)
def buffer_ramp_access(a: T.handle, b: T.handle, c: T.handle) -> None:
    A = T.match_buffer(a, (128,), "float32")
    B = T.match_buffer(b, (128,), "float32")
    C = T.match_buffer(c, (128,), "float32")
    for i in range(128 // 4):
        A[i * 4 : i * 4 + 4] = T.broadcast(1.0, 4)
        B[i * 4 : i * 4 + 4] = A[i * 4 : i * 4 + 4] + A[i * 4 : i * 4 + 4]
        C[i : i + 128 : 32] = A[i * 4 : i * 4 + 4]
