# from typing import TypeVar
# from tvm.script import ir as I
# from tvm.script import tirx as T
# from tvm.tirx.layout import Axis
# from tvm.script import relax as R

n = TypeVar("n")
m = TypeVar("m")
@I.ir_module
class Module:
    @T.prim_func(private=True, s_tir=True)
    def add(add: T.Buffer((T.int64(4),), "float32"), Module_1: T.Buffer((T.int64(4),), "float32"), T_1: T.Buffer((4,), "float32")):
        # with T.sblock("root"):
        for R_1, i in T.grid(T.int64(2), T.int64(2)):
            with T.sblock("x"):
                v_i = T.axis.spatial(T.int64(4), R_1 * T.int64(2) + i)
                T.reads(add[v_i])
                T.writes(Module_1[v_i])
                Module_1[v_i] = add[v_i] + T.float32(1.0) - T.float32("inf") + T.float32("nan") + T.float32(1500000000000000078757140382806630373056702871662238732373781173267703686983362293679557062620671796065556665749325817265413784853040645863467188277180060474272580801389863705606745350692182135089053429852456199917621678558451461320111979114170213741868888183230085264257173504208294580298189100810240.0)

    @R.function(private=True)
    def cls(x: R.Tensor((n,), dtype="float32")) -> R.Tensor((n,), dtype="float32"):
        return x

    @R.function
    def main(n_1: R.Tensor((n, m), dtype="float32"), s: R.Shape([n, "n + m"]), k: T.int64, y: R.Tensor((k, k * 2), dtype="float32")) -> R.Tuple(R.Tensor((n,), dtype="float32"), R.Tuple(R.Tensor((n,), dtype="float32"), R.Tuple(R.Tensor((n,), dtype="float32")), R.Tuple)):
        cls = Module
        R_1: R.Tensor((n,), dtype="float32") = R.sum(n_1, axis=[1], keepdims=False)
        T_2: R.Tensor((n,), dtype="float32") = cls.cls(R_1)
        with R.dataflow():
            lv: R.Tensor((n,), dtype="float32") = R.add(T_2, R.const(100000002004087734272.0, "float32"))
            lv_1: R.Tensor((n,), dtype="float32") = R.add(lv, R.const(-9.9999996826552254e-21, "float32"))
            lv_1_1: R.Tensor((n,), dtype="float32") = lv_1
            R.output(lv_1)
        t: R.Tuple(R.Tensor((n,), dtype="float32"), R.Tuple(R.Tensor((n,), dtype="float32")), R.Tuple) = lv_1, (lv_1,), R.tuple()
        gv: R.Tuple(R.Tensor((n,), dtype="float32")) = t[1]
        z: R.Tensor((n,), dtype="float32") = gv[0]
        return (z, t)