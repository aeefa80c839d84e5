@T.prim_func
def f(A: T.Buffer((64,), "float32"), B: T.Buffer((16,), "float32x4"), C: T.Buffer((64,), "int32")):
    A[T.Ramp(0, 1, 4)] = T.Broadcast(T.float32(0), 4)
    A[0:4] = A[4:8] + T.Broadcast(1.0, 4)
    A[T.Ramp(0, 2, 4)] = A[T.Ramp(1, 2, 4)]
    A[T.Ramp(T.int64(0), T.int64(1), 4)] = T.Broadcast(1.0, 4)
    B[0] = A[0:4]
    B[T.Ramp(0, 1, 2)] = T.Broadcast(1.0, 8)
    A[C[0:4]] = T.Broadcast(2.0, 4)
    A[0:4] = T.Select(C[0:4] > T.Broadcast(1, 4), A[0:4], T.Broadcast(0.0, 4))
    A[0:4] = T.Cast("float32x4", C[0:4])
    A[0:T.vscale() * 4] = A[4:4 + T.vscale() * 4]
    A[T.Ramp(0, 1, T.vscale() * 4)] = T.Broadcast(T.float32(1), T.vscale() * 4)
    A.vstore([0], T.Broadcast(1.0, 4))
    A.vstore(0, A.vload(4, "float32x4"))
    x = A.vload([T.Ramp(0, 1, 4)])
    A[T.Ramp(0, 1, 4)] = T.Shuffle([x], [3, 2, 1, 0])
    A[0] = T.Shuffle([A[0:4]], [2])
    A[0:4] = T.if_then_else(C[0] > 1, A[0:4], T.Broadcast(0.0, 4))
