@I.ir_module
class Module:
    # a comment
    @R.function  # trailing
    def main(
        x: R.Tensor((2,), "float32"),  # one
        y: R.Tensor((2,), "float32"),
    ) -> R.Tensor((2,), "float32"):
        # from tvm.script import relax as R
        z: R.Tensor((2,), "float32") = R.add(
            x,
            y,
        )  # add

        return z

    # end
