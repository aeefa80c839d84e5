@I.ir_module
class Module:
    I.module_attrs({"device_num": 4})
    I.module_global_infos({"mesh": [R.dist.device_mesh((4,), I.Range(0, 4)), R.device_mesh((2, 2), I.Range(0, 4))]})
    @R.function
    def main(A: R.dist.DTensor((8, 4), "float16", "mesh[0]", "S[0]")):
        c = R.dist.const(2, ty=R.DTensor((), "float16", "mesh[0]", "R"))
        return (A, c)
