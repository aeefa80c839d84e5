@T.prim_func(s_tir=True)
def func(A: T.handle("float32"), B: T.handle("float32"), C: T.handle("float32")):
    blockIdx_x = T.launch_thread("blockIdx.x", 1)
    threadIdx_x = T.launch_thread("threadIdx.x", 32)
    A_warp = T.alloc_buffer([1], "float32", scope="local")
    B_warp = T.alloc_buffer([1], "float32", scope="local")
    red_buf0 = T.alloc_buffer([1], "float32", scope="local")
    A_warp_1 = T.decl_buffer((32,), data=A_warp.data, scope="local")
    A_1 = T.decl_buffer((32,), data=A)
    A_warp_1[0] = A_1[threadIdx_x]
    B_warp_1 = T.decl_buffer((32,), data=B_warp.data, scope="local")
    T.tvm_storage_sync("warp")
    B_warp_1[threadIdx_x] = T.tvm_warp_shuffle(T.tvm_warp_activemask(), A_warp_1[0], threadIdx_x % 4 * 8 + threadIdx_x // 4, 32, 32) + T.float32(1)
    red_buf0_1 = T.decl_buffer((1,), data=red_buf0.data, scope="local")
    with T.attr(T.comm_reducer(lambda x0, y0: x0 + y0, [T.float32(0)]), "reduce_scope", T.reinterpret("handle", T.uint64(0))):
        mask = T.alloc_buffer([1], "uint32", scope="local")
        t0 = T.alloc_buffer([1], "float32", scope="local")
        red_buf0_1[0] = A_warp_1[0]
        mask[0] = T.tvm_warp_activemask()
        t0[0] = T.tvm_warp_shuffle_down(mask[0], red_buf0_1[0], 16, 32, 32)
        red_buf0_1[0] = red_buf0_1[0] + t0[0]
        red_buf0_1[0] = T.tvm_warp_shuffle(mask[0], red_buf0_1[0], 0, 32, 32)
        t0[0] = T.tvm_warp_shuffle_up(mask[0], red_buf0_1[0], 16, 32, 32)
    if threadIdx_x == 0:
        C_1 = T.decl_buffer((1,), data=C)
        C_1[0] = red_buf0_1[0]
