@T.prim_func
def f(A: T.Buffer((4,), "float16"), B: T.Buffer((4,), "bfloat16"), n: T.int32, m: T.int64):
    A[0] = T.float16(1) + A[1] * T.float16(2.5)
    A[1] = T.Cast("float16", T.Cast("float32", A[1]) + 1.0)
    B[0] = T.bfloat16(3) * B[1]
    T.evaluate(n + m)
    T.evaluate(T.Cast("int32", m) + n)
    T.evaluate(T.int32(m))
    T.evaluate(T.int64(n) * m)
    T.evaluate(T.uint8(255) + T.uint8(1))
    T.evaluate(T.bool(n))
    T.evaluate(T.boolean(True))
    T.evaluate(T.Cast("bool", n))
    T.evaluate(T.Cast("handle", T.uint64(0)))
