@R.function
def f(x: R.Tensor((2,), "float32")):
    y = R.add(R.multiply(x, x), R.subtract(x, R.add(x, x)))
    z = (R.add(x, x), (R.add(y, y), y))
    w = z[1][0]
    v = R.add(z[0], z[1][1])
    return (R.add(x, x), v)
