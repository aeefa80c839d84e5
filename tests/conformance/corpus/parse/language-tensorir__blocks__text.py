@T.prim_func(s_tir=True)
def f(A: T.Buffer((16, 16), "float32"), B: T.Buffer((16, 16), "float32"), n: T.int32):
    T.func_attr({"tirx.noalias": True})
    C = T.sblock_alloc_buffer((16, 16))
    D = T.sblock_alloc_buffer([16, 16], "float16", scope="shared", align=128, offset_factor=16)
    for i, j in T.grid(16, 16):
        with T.sblock("a"):
            vi, vj = T.axis.remap("SS", [i, j])
            T.where(i * 2 + j < n)
            T.reads(A[vi, vj])
            T.writes([C[vi, vj]])
            T.sblock_attr({"x": 1, "y": [1, 2], "z": T.int64(4), "script_parsing_detect_access": 3, "meta_schedule.thread_extent_low_inclusive": 32, "buffer_dim_align": [[0, 0, 32, 8]], "warp_execution": True})
            with T.init():
                C[vi, vj] = 0.0
            C[vi, vj] = A[vi, vj]
        with T.sblock():
            T.reads()
            T.writes()
            E = T.sblock_alloc_buffer((4,), "float32")
            E[0] = 1.0
        with T.sblock("opaque", no_realize=False):
            T.reads(A[0:16, 0:16], B[i, 0:8])
            T.writes(B[i:i + 1, 0:16])
            X = T.match_buffer(A[0:4, 0:4], (4, 4), "float32", strides=["s0", "s1"], elem_offset=0, offset_factor=1)
            Y = T.match_buffer(A[i, j:j + 4], (4,), "float32")
            Z = T.match_buffer(A[i, j:j + 4], [4], dtype="float32", scope="global", align=64)
            B[i, j] = X[0, 0] + Y[1]
