# from tvm.script import ir as I
# from tvm.script import relax as R

@I.ir_module
class Module:
    @R.function(pure=False)
    def main(x: R.Tensor((4,), dtype="float32")) -> R.Object:
        s: R.Object = R.call_packed("vm.builtin.rnn_state_get", x, ty_args=(R.Object,))
        return s
