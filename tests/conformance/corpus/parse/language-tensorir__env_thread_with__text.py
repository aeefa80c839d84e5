@T.prim_func(s_tir=True)
def func(A: T.Buffer(128, "float32"), C: T.Buffer(128, "float32")):
    B = T.alloc_buffer([128], dtype="float32")
    threadIdx_x = T.env_thread("threadIdx.x")
    with T.launch_thread(threadIdx_x, 128):
        B[threadIdx_x] = A[threadIdx_x]
    with T.launch_thread(threadIdx_x, 128):
        C[threadIdx_x] = B[threadIdx_x]
    with T.launch_thread("threadIdx.x", 128) as tx:
        C[tx] = B[tx]
