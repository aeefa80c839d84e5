from tvm.script import relax
@relax.function
def main(x: relax.Tensor((2,), "float32")):
    y = relax.op.add(x, x)
    z = relax.const(1.0)
    return relax.op.nn.relu(y)
