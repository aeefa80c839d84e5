# Threads of 64 bits: products of their variables do not fit 32.
from tvm.script import tirx as T

@T.prim_func
def squares(A: T.Buffer((2,), "int64"), B: T.Buffer((2,), "int64")):
    bx = T.launch_thread("blockIdx.x", T.int64(100000))
    tx = T.launch_thread("threadIdx.x", T.int64(2))
    if bx == T.int64(99999):
        B[tx] = A[tx] + bx * bx
