@T.prim_func(s_tir=True)
def f(A: T.Buffer((16, 16), "float32"), B: T.Buffer((16, 16), "float32")):
    for i in range(4):
        with T.sblock("outer"):
            vi = T.axis.spatial(4, i)
            T.reads(A[vi * 4:vi * 4 + 4, 0:16])
            T.writes(B[vi * 4:vi * 4 + 4, 0:16])
            C = T.sblock_alloc_buffer((4, 16), "float32")
            for j, k in T.grid(4, 16):
                with T.sblock("inner"):
                    vj, vk = T.axis.remap("SS", [j, k])
                    with T.init():
                        for q in range(3):
                            C[vj, vk] = 0.0
                    C[vj, vk] = A[vi * 4 + vj, vk]
            for j, k in T.grid(4, 16):
                with T.sblock(""):
                    B[vi * 4 + j, k] = C[j, k]
