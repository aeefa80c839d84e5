# from tvm.script import ir as I
# from tvm.script import relax as R

@I.ir_module
class Module:
    @R.function
    def main(x: R.Tensor((4,), dtype="int64")) -> R.Tensor(dtype="int64", ndim=1):
        y: R.Tensor(dtype="int64", ndim=1) = R.unique(x, sorted=True, return_index=False, return_inverse=False, return_counts=False)
        return y
