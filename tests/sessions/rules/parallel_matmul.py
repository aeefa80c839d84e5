# Two products of one right operand become one product of both left operands.
@R.rewriter
class Rewriter:
    @R.function
    def pattern(
        a: R.Tensor(("m", "k"), "float32"), b: R.Tensor(("m", "k"), "float32"), x: R.Tensor(("k", "n"), "float32")
    ):
        left = R.matmul(a, x)
        right = R.matmul(b, x)
        return (left, right)

    @R.function
    def replacement(
        a: R.Tensor(("m", "k"), "float32"), b: R.Tensor(("m", "k"), "float32"), x: R.Tensor(("k", "n"), "float32")
    ):
        both = R.matmul(R.concat((a, b), axis=0), x)
        return R.split(both, 2, axis=0)
