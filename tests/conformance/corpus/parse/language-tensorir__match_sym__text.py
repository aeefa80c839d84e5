@T.prim_func(s_tir=True)
def f(A: T.Buffer((16, 16), "float32")):
    for i in range(16):
        with T.sblock("a"):
            vi = T.axis.S(16, i)
            s0 = T.int32()
            s1 = T.int32()
            off = T.int32()
            A0 = T.match_buffer(A[vi, 0:16], (1, 16), "float32", strides=[s0, s1], elem_offset=off, offset_factor=1)
            T.evaluate(T.tvm_access_ptr(T.type_annotation("float32"), A0.data, A0.elem_offset, A0.strides[0], 1, dtype="handle"))
            T.evaluate(s0)
