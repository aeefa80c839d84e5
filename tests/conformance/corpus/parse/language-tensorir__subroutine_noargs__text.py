@I.ir_module(s_tir=True)
class mod:
    @T.prim_func(s_tir=True)
    def main():
        mod.subroutine()

    @T.prim_func(s_tir=True)
    def subroutine():
        T.evaluate(0)
