# close: the threads of a block add in another order than the evaluator.
from tvm.script import tirx as T

@T.prim_func(s_tir=True)
def row_sum(A: T.Buffer((8, 128), "float32"), B: T.Buffer((8,), "float32")):
    for bx in T.thread_binding(8, thread="blockIdx.x"):
        for tx in T.thread_binding(128, thread="threadIdx.x"):
            with T.sblock("b"):
                vi = T.axis.spatial(8, bx)
                vk = T.axis.reduce(128, tx)
                with T.init():
                    B[vi] = T.float32(0)
                B[vi] = B[vi] + A[vi, vk]
