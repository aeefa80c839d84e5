@T.prim_func(s_tir=True)
def func(A: T.Buffer((4,), "float32"), B: T.Buffer((8,), "float32")):
    for i_0 in range(T.ceildiv(14, 4)):
        load_a = T.meta_var(A.vload([T.Ramp(i_0, 1, 4)], predicate=T.get_active_lane_mask("uint1x4", i_0 * 4, 14)))
        B.vstore([T.Ramp(0, 2, 4)], load_a, predicate=T.Broadcast(T.bool(True), 4))
