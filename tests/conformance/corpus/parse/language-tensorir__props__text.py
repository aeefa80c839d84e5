@T.prim_func
def f(A: T.Buffer((4, 8), "float32"), n: T.int32, B: T.Buffer((n,), "float32", strides=("s",), elem_offset="o")):
    T.evaluate(A.shape[0] + A.shape[1])
    T.evaluate(B.strides[0] + B.elem_offset)
    T.evaluate(A.data)
    C = T.alloc_buffer(A.shape, A.dtype, scope=A.scope())
    D = T.alloc_buffer((len(A.shape),), "float32")
    E = T.decl_buffer(A.shape, dtype=A.dtype, data=A.data)
    C[0, 0] = T.Cast(A.dtype, n)
    T.evaluate(n.dtype == "int32")
    for i in range(A.shape[0]):
        C[i, 0] = A[i, A.shape[1] - 1]
    b = A
    b[0, 0] = 1.0
    T.evaluate(A.byte_offset)
