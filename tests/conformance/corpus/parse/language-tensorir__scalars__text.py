@T.prim_func(s_tir=True)
def f(A: T.Buffer((10,), "int32"), B: T.Buffer((1,), "float32")):
    i = T.int32(0)
    acc: T.float32 = 0.0
    x = 5
    y = A[0] + 1
    while i < 10:
        if A[i] > 5:
            break
        A[i] = A[i] + x
        i = i + 1
        acc = acc + T.Cast("float32", y)
        i += 1
    B = acc
    v: T.float32[4]
    v[0] = acc
    w: T.i32[2, 2]
    w[0, 1] = x
    z: T.f16
    z = 1.0
    T.evaluate(-x)
    T.evaluate(x == 5 and not (y < 3))
    T.evaluate(T.max(x, y))
    T.evaluate(T.if_then_else(x > 3, x, y))
    T.call_extern("void", "f", x, A.data)
    p = A.data
    q = T.address_of(A[2])
    T.evaluate(q)
    for k in range(x):
        A[x] = A[k]
    T.buffer_store(A, 3, [2])
    with T.While(i > 3):
        i = i - 1
        T.Break()
    assert x > 3, "x"
