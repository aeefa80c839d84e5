# A size that the call gives, and more threads than elements.
from tvm.script import tirx as T

@T.prim_func(s_tir=True)
def scale(a: T.handle, b: T.handle, factor: T.float32):
    n = T.int64()
    A = T.match_buffer(a, (n, n + 1), "float32")
    B = T.match_buffer(b, (n, n + 1), "float32")
    for bx in T.thread_binding((n * (n + T.int64(1)) + T.int64(31)) // T.int64(32), thread="blockIdx.x"):
        for tx in T.thread_binding(T.int64(32), thread="threadIdx.x"):
            with T.sblock("b"):
                T.where(bx * T.int64(32) + tx < n * (n + T.int64(1)))
                vi = T.axis.spatial(n, (bx * T.int64(32) + tx) // (n + T.int64(1)))
                vj = T.axis.spatial(n + T.int64(1), (bx * T.int64(32) + tx) % (n + T.int64(1)))
                B[vi, vj] = A[vi, vj] * factor
