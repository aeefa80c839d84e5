@T.prim_func(s_tir=True)
def rf(A: T.Buffer((128, 128), "float32"), B: T.Buffer((128,), "float32"), C: T.Buffer((128,), "int32")):
    argmax_v0 = T.sblock_alloc_buffer((128,), "int32")
    argmax_v1 = T.sblock_alloc_buffer((128,), "float32")
    in_thread_0 = T.sblock_alloc_buffer((1,), "float32", strides=[1], scope="local")
    cross = T.sblock_alloc_buffer([1], dtype="float32", strides=[1], scope="local")
    for i0, i1_0 in T.grid(128, 4):
        for i1_1 in T.thread_binding(32, thread="threadIdx.x"):
            with T.sblock("argmax"):
                i = T.axis.spatial(128, i0)
                k = T.axis.reduce(128, i1_0 * 32 + i1_1)
                T.where(i1_0 * 32 + i1_1 < 100)
                T.reads(A[i, k])
                T.writes(argmax_v0[i], argmax_v1[i])
                with T.init():
                    argmax_v0[i] = -1
                    argmax_v1[i] = T.min_value("float32")
                v_argmax_v0: T.let[T.int32] = T.Select(argmax_v1[i] >= A[i, k], argmax_v0[i], k)
                v_argmax_v1: T.let[T.float32] = T.Select(argmax_v1[i] >= A[i, k], argmax_v1[i], A[i, k])
                argmax_v0[i] = v_argmax_v0
                argmax_v1[i] = v_argmax_v1
        with T.sblock("cross"):
            T.reads(in_thread_0[0])
            T.writes(cross[0])
            T.attr(T.comm_reducer(lambda x, y: x + y, [T.float32(0)]), "reduce_scope", T.reinterpret("handle", T.uint64(0)))
            T.tvm_thread_allreduce(T.uint32(1), in_thread_0[0], True, cross[0], i0)
