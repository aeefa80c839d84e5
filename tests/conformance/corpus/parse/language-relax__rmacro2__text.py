@R.macro(hygienic=False)
def add_two(a, b=None):
    c = R.add(a, x)
    return R.multiply(c, a)
@R.function
def foo(x: R.Tensor((4, 4), "float32"), y: R.Tensor((4, 4), "float32")):
    with R.dataflow():
        z = add_two(y)
        w = R.add(add_two(a=z), z)
        R.output(w)
    return w
