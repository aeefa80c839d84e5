@T.prim_func(s_tir=True)
def f(a: T.handle, b: T.handle, n: T.int32) -> None:
    A = T.match_buffer(a, (n, 16), "float32", scope="global", align=64)
    B = T.match_buffer(b, [16 * n], dtype=T.float32)
    with T.sblock("root"):
        T.reads()
        T.writes()
        T.sblock_attr({"meta_schedule.unroll_explicit": 16, "meta_schedule.vectorize": 64})
        C = T.sblock_alloc_buffer([n, 16])
        for i, j in T.grid(n, 16):
            with T.sblock("b"):
                vi, vj = T.axis.remap("SS", [i, j])
                C[vi, vj] = A[vi, vj]
        for ij in T.serial(n * 16):
            with T.sblock("c"):
                v = T.axis.S(n * 16, ij)
                B[v] = C[v // 16, v % 16]
