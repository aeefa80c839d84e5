@I.ir_module
class Module:
    @R.function
    def main(n: R.Prim("int64")) -> R.Prim("bool"):
        cls = Module
        with R.dataflow():
            even = cls.is_even(n)
            R.output(even)
        return even
    @T.prim_func(private=True, s_tir=True)
    def is_even(n: T.int64) -> T.bool:
        return n % 2 == 0
