@T.prim_func(s_tir=True)
def f(a: T.handle, b: T.handle, m: T.int32, p: T.int32, o: T.int32) -> None:
    A = T.match_buffer(a, (m, m), "float32", strides=[p, 1], elem_offset=o)
    B = T.match_buffer(b, (m, m), "float32", strides=[p * 2, 1])
    for i, j in T.grid(m, m):
        with T.sblock():
            vi, vj = T.axis.remap("SS", [i, j])
            A[vi, vj] = B[vi, vj]
