# from tvm.script import ir as I
# from tvm.script import tirx as T
# from tvm.tirx.layout import Axis

@I.ir_module
class Module:
    @T.prim_func(s_tir=True)
    def names(lambda_: T.Buffer((4,), "float32"), range_1: T.Buffer((4,), "float32"), buffer: T.Buffer((4,), "float32"), metadata_1: T.Buffer((4,), "float32"), tvm: T.Buffer((4,), "float32"), cls_1: T.Buffer((4,), "float32"), print: T.Buffer((4,), "float32"), True_: T.int32):
        # with T.sblock("root"):
        for i, j in T.grid(4, 4):
            range_1[i] = lambda_[i] + buffer[i] + metadata_1[i] + tvm[i] + cls_1[i] + print[j]
        for i in range(4):
            with T.sblock("a"):
                i_1 = T.axis.spatial(4, i)
                T.reads()
                T.writes(range_1[i_1])
                range_1[i_1] = T.float32(1.0)
        for i in range(4):
            with T.sblock("a"):
                vi = T.axis.spatial(4, i)
                T.reads()
                T.writes(range_1[vi:vi + (T.max(0, 3 - vi) + 1)])
                range_1[vi] = T.float32(1.0)
                for i_1 in range(vi, vi + (4 - vi)):
                    for k in T.thread_binding(2, thread="vthread.x"):
                        range_1[i_1] = T.float32(2.0)