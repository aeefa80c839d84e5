@R.rewriter
class Wrong:
    @R.function
    def pattern(x: R.Tensor((4,), "float32")):
        return R.exp(x)

    @R.function
    def replacement(x: R.Tensor((4,), "float32")):
        return R.log(x)
