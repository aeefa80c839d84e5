@I.ir_module(s_tir=True)
class Module:
    I.module_attrs({"attr": 1, "b": [1, 2], "s": "x", "n": None, "d": {"k": T.int32(1)}})
    @T.prim_func(s_tir=True)
    def main():
        T.evaluate(0)
