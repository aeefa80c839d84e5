from tvm.script import ir as I
from tvm.script import tirx as T


@I.ir_module
class Module:
    @T.prim_func
    def total(x: T.Buffer((8,), "float32"), y: T.Buffer((1,), "float32")):
        s = T.decl_buffer((1,), data=T.TVMBackendAllocWorkspace(1, 0, T.uint64(4), 2, 32))
        for k in range(8):
            s[0] = s[0] + x[k]
        y[0] = s[0]
        T.evaluate(T.TVMBackendFreeWorkspace(1, 0, s.data))
