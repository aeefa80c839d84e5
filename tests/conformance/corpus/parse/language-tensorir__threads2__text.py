@T.prim_func
def f(A: T.Buffer((128,), "float32")):
    with T.launch_thread("blockIdx.x", 4) as bx, T.launch_thread("threadIdx.x", 32) as tx:
        A[bx * 32 + tx] = 1.0
    with T.launch_thread("blockIdx.x", T.int64(4)) as bx:
        A[bx] = 1.0
