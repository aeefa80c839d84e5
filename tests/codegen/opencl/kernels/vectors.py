# Loads and stores of vectors, and a barrier that is written.
from tvm.script import tirx as T

@T.prim_func
def reverse(A: T.Buffer((256,), "float32"), B: T.Buffer((256,), "float32")):
    bx = T.launch_thread("blockIdx.x", 2)
    tx = T.launch_thread("threadIdx.x", 32)
    S = T.alloc_buffer((128,), "float32", scope="shared")
    S[tx * 4:tx * 4 + 4] = A[bx * 128 + tx * 4:bx * 128 + tx * 4 + 4] * T.Broadcast(T.float32(2), 4)
    T.tvm_storage_sync("shared")
    for i in range(4):
        B[bx * 128 + tx * 4 + i] = S[127 - (tx * 4 + i)]
