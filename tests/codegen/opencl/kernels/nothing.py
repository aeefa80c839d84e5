# no ptx: a tensor without elements, nothing is left to launch.
from tvm.script import tirx as T

@T.prim_func(s_tir=True)
def nothing(A: T.Buffer((3, 0), "float32"), B: T.Buffer((3, 0), "float32")):
    if T.bool(False):
        for i in T.thread_binding(1, thread="threadIdx.x"):
            with T.sblock("b"):
                vi = T.axis.spatial(1, i)
                B[0, vi] = A[0, vi]
