@I.ir_module
class Module:
    I.module_attrs({"device_num": 10})
    I.module_global_infos({"mesh": [R.device_mesh((2, 2), I.Range(0, 4)), R.device_mesh((1,), I.Range(4, 5)), R.device_mesh((2,), [4, 5])]})
    @R.function
    def foo(x: R.DTensor((128, 128), "float32", device_mesh="mesh[0]", placement="S[0], R"), y: R.DTensor((128, 128), "float32", "mesh[0]", "R, S[1]"), z: R.Tensor((128, 128), "float32")) -> R.DTensor((128, 128), "float32", "mesh[0]", "S[0], R"):
        lv0 = R.dist.annotate_sharding(z, "mesh[0]", "S[0], R")
        lv1 = R.dist.annotate_sharding(z, device_mesh="mesh[0]", placement="R, R")
        lv2: R.DTensor((128, 128), "float32", "mesh[0]", "S[0], R") = R.dist.redistribute(x, device_mesh="mesh[0]", placement="S[0], R")
        c = R.dist.const(1.0, dtype=R.DTensor((), "float32", "mesh[0]", "R, R"))
        lv3 = R.add(x, x)
        return x
