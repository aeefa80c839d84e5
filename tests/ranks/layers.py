# Collectives of every kind, of all ranks and of groups.
@I.ir_module
class Module:
    @R.function
    def main(x: R.Tensor((4,), "float32"), w: R.Tensor((4,), "float32")) -> R.Tuple(R.Tensor((4,), "float32"), R.Tensor((16,), "float32")):
        with R.dataflow():
            a = R.multiply(x, w)
            s = R.ccl.allreduce(a, "sum", in_group=False)
            g = R.ccl.allreduce(a, "max", in_group=True)
            b = R.add(s, g)
            first = R.ccl.broadcast_from_worker0(b)
            every = R.ccl.allgather(a, 4, in_group=False)
            c = R.add(b, first)
            gv = (c, every)
            R.output(gv)
        return gv
