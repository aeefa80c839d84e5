import os

from tvm.script import ir as I
from tvm.script import relax as R


@I.ir_module
class Module:
    @R.function
    def main(x: R.Tensor((3, 4), "float32")) -> R.Tensor((3, 4), "float32"):
        first = R.add(x, x)
        second = R.multiply(first, x)
        return second


print(os.sep)
