# Exchanges between the threads of a warp: a sum, a rotation, groups of 8, and the end of a group.
from tvm.script import tirx as T

@T.prim_func
def warp_sum(A: T.Buffer((4, 32), "float32"), B: T.Buffer((4,), "float32")):
    bx = T.launch_thread("blockIdx.x", 2)
    ty = T.launch_thread("threadIdx.y", 2)
    tx = T.launch_thread("threadIdx.x", 32)
    v = T.alloc_buffer((1,), scope="local")
    t = T.alloc_buffer((1,), scope="local")
    mask = T.alloc_buffer((1,), "uint32", scope="local")
    v[0] = A[bx * 2 + ty, tx]
    mask[0] = T.tvm_warp_activemask()
    t[0] = T.tvm_warp_shuffle_down(mask[0], v[0], 16, 32, 32)
    v[0] = v[0] + t[0]
    t[0] = T.tvm_warp_shuffle_down(mask[0], v[0], 8, 32, 32)
    v[0] = v[0] + t[0]
    t[0] = T.tvm_warp_shuffle_down(mask[0], v[0], 4, 32, 32)
    v[0] = v[0] + t[0]
    t[0] = T.tvm_warp_shuffle_down(mask[0], v[0], 2, 32, 32)
    v[0] = v[0] + t[0]
    t[0] = T.tvm_warp_shuffle_down(mask[0], v[0], 1, 32, 32)
    v[0] = v[0] + t[0]
    v[0] = T.tvm_warp_shuffle(mask[0], v[0], 0, 32, 32)
    B[bx * 2 + ty] = v[0]

@T.prim_func
def groups(A: T.Buffer((64,), "int32"), B: T.Buffer((4, 64), "int32")):
    tx = T.launch_thread("threadIdx.x", 64)
    mask = T.alloc_buffer((1,), "uint32", scope="local")
    mask[0] = T.tvm_warp_activemask()
    B[0, tx] = T.tvm_warp_shuffle(mask[0], A[tx], 3, 8, 32)
    B[1, tx] = T.tvm_warp_shuffle_up(mask[0], A[tx], 3, 8, 32)
    B[2, tx] = T.tvm_warp_shuffle_down(mask[0], A[tx], 3, 8, 32)
    for i in range(1):
        B[3, tx] = T.tvm_warp_shuffle_xor(mask[0], A[tx], 5, 16, 32) + i
