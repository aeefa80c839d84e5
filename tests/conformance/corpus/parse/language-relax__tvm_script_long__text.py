import tvm
from tvm import relax, tir
from tvm import te, topi
@tvm.script.ir_module
class Module:
    @tvm.script.tir.prim_func
    def k(A: tvm.script.tir.Buffer((4,), "float32")):
        tvm.script.tir.evaluate(0)
    @tvm.script.relax.function
    def main(x: tvm.script.relax.Tensor((2,), "float32")):
        return tvm.script.relax.add(x, x)
