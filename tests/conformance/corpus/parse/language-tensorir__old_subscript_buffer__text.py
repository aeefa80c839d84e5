@T.prim_func
def f(A: T.Buffer[(128, 128), "float32"], B: T.Buffer[128, "int8"], C: T.Buffer[(4,)]):
    with T.block("root"):
        for i in T.serial(0, 128):
            with T.block("b"):
                vi = T.axis.spatial(128, i)
                T.block_attr({"k": "v"})
                B[vi] = T.int8(0)
