# x + x is 2 * x, by a helper; and a relu of a relu is one relu.
@R.rewriter
class Doubling:
    @R.function
    def pattern(x: R.Tensor((4,), "float32")):
        return R.add(x, x)

    @R.function
    def replacement(x: R.Tensor((4,), "float32")):
        cls = Doubling
        y: R.Tensor((4,), "float32") = cls.double(x)
        return y

    @R.function(private=True)
    def double(x: R.Tensor((4,), "float32")) -> R.Tensor((4,), "float32"):
        return R.multiply(x, R.const(2.0, "float32"))


@R.rewriter
class OneRelu:
    @R.function
    def pattern(x: R.Tensor(dtype="float32")):
        return R.nn.relu(R.nn.relu(x))

    @R.function
    def replacement(x: R.Tensor(dtype="float32")):
        return R.nn.relu(x)
