@T.prim_func(s_tir=True)
def f(A: T.buffer((16,), "float32")):
    B = T.alloc_local((16,), annotations={"k": 1})
    C = T.alloc_shared([16], "float16", annotations={"a": "text", "b": [1, 2]})
    D = T.alloc_buffer([16], "float32", scope="shared.dyn", annotations={"k": {"x": 1}})
    for j in range(0, 16):
        B[j] = A[j]
        C[j] = T.Cast("float16", A[j])
        D[j] = A[j]
