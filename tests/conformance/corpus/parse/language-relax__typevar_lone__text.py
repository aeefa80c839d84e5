n = TypeVar("n")
@R.function
def f(x: R.Tensor((n, "n + 1"), "float32")):
    return x
