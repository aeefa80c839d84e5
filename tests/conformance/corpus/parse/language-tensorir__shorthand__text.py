@T.prim_func
def f(A: T.Buffer((4,), T.f16), n: T.i32, m: T.u8, k: T.bf16):
    B = T.alloc_buffer((4,), T.f32)
    B[0] = T.f32(n)
    A[0] = T.Cast(T.f16, n)
