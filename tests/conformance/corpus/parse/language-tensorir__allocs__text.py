@T.prim_func
def f(A: T.Buffer((8,), "float32")):
    B = T.alloc_buffer((4,), "float32", scope="local")
    C = T.alloc_buffer(4)
    D = T.alloc_buffer([4, 4], "float16", scope="shared")
    E = T.decl_buffer((4,), "float32", data=B.data)
    F = T.decl_buffer((2, 2), "float32", data=B.data, elem_offset=0, scope="local", strides=[2, 1])
    G = T.decl_buffer((4,))
    s: T.int32
    s = 5
    B[0] = T.Cast("float32", s)
    x = T.local_scalar("float32")
    y = T.shared_scalar("int32")
    x = 1.0
    z = T.alloc_local((4,), "float32")
    w = T.alloc_shared((4,), "float32")
    v = A.view(2, 4)
    u = A.view((2, 4))
    t = A.view("int32")
    v[0, 0] = 1.0
