@R.macro
def addm(a, b):
    c = R.add(a, b)
    return c

@R.macro(hygienic=False)
def noth():
    d = R.add(x, x)
    return d

@R.function
def f(x: R.Tensor((4,), "float32")):
    y = addm(x, x)
    z = noth()
    return z
