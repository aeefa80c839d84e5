@I.ir_module
class Module:
    I.module_global_infos({"vdevice": [I.vdevice("llvm"), I.vdevice("cuda", 0), I.vdevice("cuda", 1)]})
    @R.function
    def main(c: R.Tensor((2,), "float32", "vdevice:1"), d: R.Tensor((2,), "float32", vdevice="vdevice:2"), e: R.Tensor((2,), "float32", vdevice="vdevice")):
        a: R.Tensor((2,), "float32", "vdevice:1") = R.add(c, c)
        return a, d, e
