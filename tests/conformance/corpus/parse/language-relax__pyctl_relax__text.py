N = 4
shape = (4, 8)
dt = "float32"
@R.function
def f(x: R.Tensor(shape, dt), y: R.Tensor((N, 2 * N), dtype=dt)):
    z = R.add(x, y)
    w = R.zeros(shape, dt)
    return z
