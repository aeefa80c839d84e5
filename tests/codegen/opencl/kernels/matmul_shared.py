# Tiles of A and B in shared memory, a register for each thread; TVM's barriers are not written here.
from tvm.script import tirx as T

@T.prim_func(s_tir=True)
def matmul(A: T.Buffer((32, 24), "float32"), B: T.Buffer((24, 32), "float32"), C: T.Buffer((32, 32), "float32")):
    A_shared = T.sblock_alloc_buffer((32, 24), "float32", scope="shared")
    B_shared = T.sblock_alloc_buffer((24, 32), "float32", scope="shared")
    C_local = T.sblock_alloc_buffer((32, 32), "float32", scope="local")
    for by in T.thread_binding(4, thread="blockIdx.y"):
        for bx in T.thread_binding(4, thread="blockIdx.x"):
            for ty in T.thread_binding(8, thread="threadIdx.y"):
                for tx in T.thread_binding(8, thread="threadIdx.x"):
                    with T.sblock("init"):
                        vi = T.axis.spatial(32, by * 8 + ty)
                        vj = T.axis.spatial(32, bx * 8 + tx)
                        C_local[vi, vj] = T.float32(0)
                    for k0 in range(3):
                        for i0 in T.thread_binding(8, thread="threadIdx.y"):
                            for k1 in T.thread_binding(8, thread="threadIdx.x"):
                                with T.sblock("A_shared"):
                                    vi = T.axis.spatial(32, by * 8 + i0)
                                    vk = T.axis.spatial(24, k0 * 8 + k1)
                                    A_shared[vi, vk] = A[vi, vk]
                        for k1 in T.thread_binding(8, thread="threadIdx.y"):
                            for j0 in T.thread_binding(8, thread="threadIdx.x"):
                                with T.sblock("B_shared"):
                                    vk = T.axis.spatial(24, k0 * 8 + k1)
                                    vj = T.axis.spatial(32, bx * 8 + j0)
                                    B_shared[vk, vj] = B[vk, vj]
                        for k1 in range(8):
                            with T.sblock("update"):
                                vi = T.axis.spatial(32, by * 8 + ty)
                                vj = T.axis.spatial(32, bx * 8 + tx)
                                vk = T.axis.reduce(24, k0 * 8 + k1)
                                C_local[vi, vj] = C_local[vi, vj] + A_shared[vi, vk] * B_shared[vk, vj]
                    with T.sblock("store"):
                        vi = T.axis.spatial(32, by * 8 + ty)
                        vj = T.axis.spatial(32, bx * 8 + tx)
                        C[vi, vj] = C_local[vi, vj]
