metadata = tvm.ir.load_json("""{
  \"root_index\": 13,
  \"nodes\": [
    {
      \"type\": \"ffi.String\",
      \"data\": \"relax.expr.Constant\"
    },
    {
      \"type\": \"None\"
    },
    {
      \"type\": \"ir.PrimType\",
      \"data\": {
        \"span\": 1,
        \"dtype\": \"int64\"
      }
    },
    {
      \"type\": \"ir.IntImm\",
      \"data\": {
        \"span\": 1,
        \"ty\": 2,
        \"value\": 1
      }
    },
    {
      \"type\": \"ir.IntImm\",
      \"data\": {
        \"span\": 1,
        \"ty\": 2,
        \"value\": 1
      }
    },
    {
      \"type\": \"ffi.Array\",
      \"data\": [
        3,
        4
      ]
    },
    {
      \"type\": \"relax.ShapeType\",
      \"data\": {
        \"span\": 1,
        \"values\": 5,
        \"ndim\": 2
      }
    },
    {
      \"type\": \"relax.expr.ShapeExpr\",
      \"data\": {
        \"span\": 1,
        \"ty\": 6,
        \"values\": 5
      }
    },
    {
      \"type\": \"ir.PrimType\",
      \"data\": {
        \"span\": 1,
        \"dtype\": \"float32\"
      }
    },
    {
      \"type\": \"relax.TensorType\",
      \"data\": {
        \"span\": 1,
        \"shape\": 7,
        \"dtype\": 8,
        \"vdevice\": 1,
        \"ndim\": 2
      }
    },
    {
      \"type\": \"ffi.Tensor\",
      \"data\": \"P6G0lvBAXt0AAAAAAAAAAAEAAAAAAAAAAgAAAAIgAQABAAAAAAAAAAEAAAAAAAAABAAAAAAAAAAAAIA\\/\"
    },
    {
      \"type\": \"relax.expr.Constant\",
      \"data\": {
        \"span\": 1,
        \"ty\": 9,
        \"data\": 10
      }
    },
    {
      \"type\": \"ffi.Array\",
      \"data\": [
        11
      ]
    },
    {
      \"type\": \"ffi.Map\",
      \"data\": [
        0,
        12
      ]
    }
  ],
  \"metadata\": {
    \"tvm_version\": \"0.26.dev0\"
  }
}""")
# from typing import TypeVar
# from tvm.script import ir as I
# from tvm.script import tirx as T
# from tvm.tirx.layout import Axis
# from tvm.script import relax as R

n = TypeVar("n")
@I.ir_module
class Module:
    @T.prim_func(private=True, s_tir=True)
    def helper(a: T.Buffer((T.int64(4),), "float32"), b: T.Buffer((T.int64(4),), "float32")):
        # with T.sblock("root"):
        for i in range(T.int64(4)):
            with T.sblock("b"):
                vi = T.axis.spatial(T.int64(4), i)
                T.reads(a[vi])
                T.writes(b[vi])
                b[vi] = a[vi]

    @R.function
    def force(x: R.Tensor((4,), dtype="float32")) -> R.Tensor((4,), dtype="float32"):
        R.func_attr({"relax.force_pure": True})
        R.print(x, format=R.str(""))
        return x

    @R.function
    def rec(x: R.Tensor((4,), dtype="float32")) -> R.Tensor((4,), dtype="float32"):
        cls = Module
        y: R.Tensor((4,), dtype="float32") = cls.rec(x)
        return y

    @R.function(pure=False)
    def main(x: R.Tensor((n, 4), dtype="float32"), w: R.Tensor(dtype="float32"), helper: R.Tensor((4,), dtype="float32")) -> R.Tensor((n, 4), dtype="float32"):
        k = T.int64()
        m = T.int64()
        cls = Module
        y: R.Tensor((k, m), dtype="float32") = R.match_cast(w, R.Tensor((k, m), dtype="float32"))
        z: R.Tensor((k, m), dtype="float32") = R.add(y, y)
        metadata_1: R.Tensor((k, m), dtype="float32") = R.add(z, metadata["relax.expr.Constant"][0])
        with R.dataflow():
            a = R.call_tir(cls.helper, (helper,), out_ty=R.Tensor((4,), dtype="float32"))
            range: R.Tensor((4,), dtype="float32") = R.add(a, a)
            R.output(range)
        if R.const(True, "bool"):
            q_1: R.Tensor((4,), dtype="float32") = R.add(range, range)
            q: R.Tensor((4,), dtype="float32") = q_1
        else:
            q: R.Tensor((4,), dtype="float32") = range
        o: R.Tensor((4,), dtype="float32") = R.call_packed("p", q, ty_args=(R.Tensor((4,), dtype="float32"),))
        _: R.Any = R.call_packed("void", q)
        v: R.Any = R.call_packed("any", q)
        s: R.Shape(ndim=-1) = R.call_packed("shape", q, ty_args=(R.Shape(ndim=-1),))
        t: R.Tuple(R.Tensor((n, 4), dtype="float32"), R.Tensor((k, m), dtype="float32")) = x, y
        u: R.Tensor((n, 4), dtype="float32") = t[0]
        return x