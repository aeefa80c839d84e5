# Memory that the host allocates between two launches, and a loop of the host.
from tvm.script import tirx as T

@T.prim_func(s_tir=True)
def two(A: T.Buffer((4, 32), "float32"), B: T.Buffer((4, 32), "float32")):
    M = T.sblock_alloc_buffer((4,), "float32")
    for bx in T.thread_binding(1, thread="blockIdx.x"):
        for tx in T.thread_binding(4, thread="threadIdx.x"):
            for k in range(32):
                with T.sblock("max"):
                    vi = T.axis.spatial(4, tx)
                    vk = T.axis.reduce(32, k)
                    with T.init():
                        M[vi] = T.float32(-1e30)
                    M[vi] = T.max(M[vi], A[vi, vk])
    for i in range(4):
        for tx in T.thread_binding(32, thread="threadIdx.x"):
            with T.sblock("sub"):
                vi, vj = T.axis.remap("SS", [i, tx])
                B[vi, vj] = A[vi, vj] - M[vi]
