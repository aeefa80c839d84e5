@T.prim_func
def f(A: T.Buffer((8,), "float32")):
    T.func_attr({"tir.noalias": True})
    B = T.allocate([4], "float32", "local")
    Bb = T.Buffer((4,), data=B, scope="local")
    Bb[0] = 1.0
    with T.allocate([4], "float32", "shared") as C:
        Cb = T.decl_buffer((4,), data=C, scope="shared")
        Cb[0] = 2.0
    with T.decl_buffer((4,), "float32") as D:
        D[0] = 1.0
    with T.allocate_const([1, 2, 3], "int32", [3]) as K:
        Kb = T.Buffer((3,), "int32", data=K)
        A[0] = T.Cast("float32", Kb[0])
    K2 = T.allocate_const([1.0, 2.0], "float32", [2])
    K2b = T.decl_buffer((2,), data=K2)
    E = T.allocate([4], "float32", "local", annotations={"a": 1})
    E2 = T.buffer_decl((4,), data=E)
    F = T.allocate([4], "float32", "local", T.bool(True))
    with T.allocate((4,), "float32", scope="global", condition=True) as G:
        T.evaluate(G)
