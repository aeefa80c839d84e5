@T.prim_func(s_tir=True)
def f(A: T.Buffer((128,), "float32")):
    bx = T.env_thread("blockIdx.x")
    tx = T.env_thread("threadIdx.x", "int32")
    vt = T.env_thread("vthread")
    T.launch_thread(bx, 4)
    T.launch_thread(tx, 32)
    A[bx * 32 + tx] = 1.0
