@R.function
def f(x: R.Tensor((2,), "float32")):
    with R.dataflow():
        lv = R.add(x, x)
        lv1 = R.add(lv, lv)
        R.output(lv1)
    with R.dataflow():
        a = R.add(lv1, x)
        b = R.add(a, x)
        R.output(a, b)
    with R.dataflow():
        R.output()
    return (a, b)
