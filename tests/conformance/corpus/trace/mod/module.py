# from tvm.script import ir as I
# from tvm.script import tirx as T
# from tvm.tirx.layout import Axis
# from tvm.script import relax as R

@I.ir_module
class Mod:
    I.module_attrs({"a": 1, "b": [1.5, "x"], "system_lib_prefix": "x_"})
    I.module_global_infos({"dummy": [I.dummy_global_info()], "vdevice": [I.vdevice({"kind": "llvm"}, 0, "global"), I.vdevice({"arch": "sm_80", "kind": "cuda"}, 1, "global"), I.vdevice({"kind": "cuda"}, 0, "shared")]})
    @T.prim_func(private=True, s_tir=True)
    def f(A: T.Buffer((4,), "float32"), B: T.Buffer((4,), "float32"), C: T.Buffer((4,), "float32")):
        # with T.sblock("root"):
        for i in range(4):
            with T.sblock("b"):
                vi = T.axis.spatial(4, i)
                T.reads(A[vi])
                T.writes(B[vi], C[vi])
                B[vi] = A[vi]
                C[vi] = A[vi]

    ext = R.ExternFunc("sym")
    ext2 = R.ExternFunc("sym2", R.Callable((R.Tensor(ndim=2),), R.Tensor(dtype="float32", ndim=2), True))
    @R.function
    def g(x: R.Tensor((4,), dtype="float32"), y: R.Tensor((4,), dtype="float32")) -> R.Tensor((4,), dtype="float32"):
        R.func_attr({"Composite": "a.b", "Primitive": True, "n": [1, 2], "o": {"x": 1}})
        return y

    @R.function
    def main(x: R.Tensor((4,), dtype="float32", vdevice="llvm:0:global"), y: R.Tensor((4,), dtype="float32", vdevice="cuda:1:shared")) -> R.Tensor((4,), dtype="float32"):
        cls = Mod
        b: R.Tensor((4,), dtype="float32", vdevice="llvm:0:global") = R.hint_on_device(x, R.device(1, 0), "global")
        c = R.call_tir(cls.f, (b,), out_ty=[R.Tensor((4,), dtype="float32"), R.Tensor((4,), dtype="float32")])
        d: R.Tuple(R.Tensor((4,), dtype="float32"), R.Tensor((4,), dtype="float32")) = R.call_tir_inplace(cls.f, (b, b), out_ty=[R.Tensor((4,), dtype="float32"), R.Tensor((4,), dtype="float32")], inplace_indices=[0, -1])
        e: R.Tuple(R.Tensor((4,), dtype="float32"), R.Tensor((4,), dtype="float32")) = R.call_tir_with_grad(cls.f, (b,), out_ty=[R.Tensor((4,), dtype="float32"), R.Tensor((4,), dtype="float32")], te_grad_name="g", te_grad_kwargs={"k": T.float32(1.0), "l": 2})
        g: R.Any = R.make_closure(cls.g, (b,))
        h: R.Tensor((4,), dtype="float32") = R.invoke_pure_closure(g, (b,), ty_args=(R.Tensor((4,), dtype="float32"),))
        i: R.Tensor((4,), dtype="float32") = R.nn.softmax(h, axis=-1)
        j: R.Tensor((2,), dtype="float32") = R.strided_slice(i, (0,), (0,), (2,), assume_inbound=False)
        gv: R.Tensor((1, 1, 2), dtype="float32") = R.expand_dims(j, axis=[0, 1])
        k: R.Tensor((2, 1, 1), dtype="float32") = R.permute_dims(gv, axes=[2, 0, 1])
        gv1: R.Tensor((4,), dtype="bool") = R.greater(i, R.const(0.5, "float32"))
        l: R.Tensor((4,), dtype="float32") = R.where(gv1, i, R.const(1.0000000116860974e-07, "float32"))
        return l