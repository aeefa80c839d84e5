@I.ir_module
class Module:
    I.module_attrs({"external_mods": [], "a": 1})
    I.module_global_infos({"vdevice": [I.vdevice("llvm"), I.vdevice("cuda", 0), I.vdevice({"kind": "cuda", "arch": "sm_80"}, 1, "global"), I.vdevice("metal", 0, "global")], "dummy": [I.dummy_global_info(), I.dummy_global_info()]})
    my_ext = R.ExternFunc("my_ext")
    my_ext2 = R.ExternFunc("my_ext2", R.Callable((R.Tensor,), R.Tensor(dtype="float32", ndim=2), True))
    my_ext3 = R.ExternFunc("my_ext3", ty=R.Callable(ret=R.Any, purity=True))

    @R.function(private=True, pure=False)
    def g(x: R.Tensor((2,), "float32", "cuda:0")) -> R.Tensor((2,), "float32", vdevice="cuda:0:global"):
        R.func_attr({"a": 1})
        return x

    @R.function(pure=False)
    def main(x: R.Tensor((2,), "float32"), y: R.Tensor((2, 3), "float32", vdevice="llvm:0")) -> R.Tensor:
        cls = Module
        z = cls.my_ext(x)
        w = Module.my_ext2(x)
        u = R.to_vdevice(x, dst_vdevice="cuda:1:global")
        h = R.hint_on_device(x, R.device(2, 0), "global")
        h1 = R.hint_on_device(x, tvm.cpu())
        v = R.to_vdevice(x, "metal")
        return w
