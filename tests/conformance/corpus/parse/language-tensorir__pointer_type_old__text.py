@T.prim_func
def func_with_ptr_type_annotations(x: T.Ptr("int32"), y: T.Ptr("int32", "shared")):
    xx_data = T.allocate([16], "int32", "global")
    xx = T.Buffer(shape=[16], dtype="int32", scope="global", data=xx_data)
    yy_data = T.allocate([16], "int32", "shared")
    yy = T.Buffer(shape=[16], dtype="int32", scope="shared", data=yy_data)
    a: T.Ptr("int32") = T.address_of(xx[0])
    b: T.Ptr("int32", "shared") = T.address_of(yy[0])
    T.evaluate(T.call_extern("copy", a, b, dtype=""))
