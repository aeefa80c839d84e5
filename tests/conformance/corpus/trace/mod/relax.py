metadata = tvm.ir.load_json("""{
  \"root_index\": 18,
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
        \"value\": 3
      }
    },
    {
      \"type\": \"ffi.Array\",
      \"data\": [
        3
      ]
    },
    {
      \"type\": \"relax.ShapeType\",
      \"data\": {
        \"span\": 1,
        \"values\": 4,
        \"ndim\": 1
      }
    },
    {
      \"type\": \"relax.expr.ShapeExpr\",
      \"data\": {
        \"span\": 1,
        \"ty\": 5,
        \"values\": 4
      }
    },
    {
      \"type\": \"relax.TensorType\",
      \"data\": {
        \"span\": 1,
        \"shape\": 6,
        \"dtype\": 2,
        \"vdevice\": 1,
        \"ndim\": 1
      }
    },
    {
      \"type\": \"ffi.Tensor\",
      \"data\": \"P6G0lvBAXt0AAAAAAAAAAAEAAAAAAAAAAQAAAABAAQADAAAAAAAAABgAAAAAAAAAAQAAAAAAAAACAAAAAAAAAAMAAAAAAAAA\"
    },
    {
      \"type\": \"relax.expr.Constant\",
      \"data\": {
        \"span\": 1,
        \"ty\": 7,
        \"data\": 8
      }
    },
    {
      \"type\": \"ffi.Array\",
      \"data\": []
    },
    {
      \"type\": \"relax.ShapeType\",
      \"data\": {
        \"span\": 1,
        \"values\": 10,
        \"ndim\": 0
      }
    },
    {
      \"type\": \"relax.expr.ShapeExpr\",
      \"data\": {
        \"span\": 1,
        \"ty\": 11,
        \"values\": 10
      }
    },
    {
      \"type\": \"ir.PrimType\",
      \"data\": {
        \"span\": 1,
        \"dtype\": \"uint8\"
      }
    },
    {
      \"type\": \"relax.TensorType\",
      \"data\": {
        \"span\": 1,
        \"shape\": 12,
        \"dtype\": 13,
        \"vdevice\": 1,
        \"ndim\": 0
      }
    },
    {
      \"type\": \"ffi.Tensor\",
      \"data\": \"P6G0lvBAXt0AAAAAAAAAAAEAAAAAAAAAAAAAAAEIAQABAAAAAAAAAAM=\"
    },
    {
      \"type\": \"relax.expr.Constant\",
      \"data\": {
        \"span\": 1,
        \"ty\": 14,
        \"data\": 15
      }
    },
    {
      \"type\": \"ffi.Array\",
      \"data\": [
        9,
        16
      ]
    },
    {
      \"type\": \"ffi.Map\",
      \"data\": [
        0,
        17
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
class M2:
    @R.function(pure=False)
    def main(x: R.Tensor((n,), dtype="float32"), c: R.Tensor((), dtype="bool"), f: R.Callable((R.Tensor((2,), dtype="float32"),), R.Tensor((2,), dtype="float32"), True), g: R.Callable, a: R.Any, u: R.Tensor, w: R.Tensor(ndim=2), p: T.float32, b: T.bool) -> R.Any:
        q = T.int64()
        # from typing import TypeVar
        # from tvm.script import tirx as T
        # from tvm.tirx.layout import Axis
        # from tvm.script import relax as R
        
        n1 = TypeVar("n1")
        @R.function
        def inner(x_1: R.Tensor((n1,), dtype="float32")) -> R.Tensor((n1,), dtype="float32"):
            # from typing import TypeVar
            # from tvm.script import tirx as T
            # from tvm.tirx.layout import Axis
            # from tvm.script import relax as R
            
            n2 = TypeVar("n2")
            @R.function
            def inner_1(y: R.Tensor((n2,), dtype="float32")) -> R.Tensor((n2,), dtype="float32"):
                z: R.Tensor((n2,), dtype="float32") = R.add(y, y)
                return z

            r: R.Tensor((n1,), dtype="float32") = inner_1(x_1)
            return r

        # from typing import TypeVar
        # from tvm.script import tirx as T
        # from tvm.tirx.layout import Axis
        # from tvm.script import relax as R
        
        @R.function(pure=False)
        def loop(k: R.Tensor((), dtype="int32")) -> R.Tensor((), dtype="int32"):
            r: R.Tensor((), dtype="int32") = loop(k)
            return r

        v: R.Tensor((n,), dtype="float32") = inner(x)
        if c:
            y_1: R.Tensor((n,), dtype="float32") = R.add(v, v)
            if c:
                zz: R.Tensor((n,), dtype="float32") = y_1
            else:
                zz_1: R.Tensor((n,), dtype="float32") = R.multiply(y_1, y_1)
                zz: R.Tensor((n,), dtype="float32") = zz_1
            y: R.Tensor((n,), dtype="float32") = zz
        else:
            y_1: R.Tensor((n,), dtype="float32") = R.subtract(v, v)
            y: R.Tensor((n,), dtype="float32") = y_1
        m: R.Tuple(R.Tensor((q, 4), dtype="int8"), R.Shape([q, q * 2])) = R.match_cast(a, R.Tuple(R.Tensor((q, 4), dtype="int8"), R.Shape([q, q * 2])))
        gv: R.Tensor((q, 4), dtype="int8") = m[0]
        R.print(gv, y, format=R.str("a {}\t\"{}\" \\ \n"))
        R.assert_op(c, y, format=R.str("x"))
        e: R.Tuple(R.Tensor((n,), dtype="float32"), R.Any) = R.call_packed("f.g", x, R.shape([n, 2]), R.str("s"), R.dtype("float16"), 3, T.float32(1.5), True, n, n + 1, T.int32(7), ty_args=(R.Tensor((n,), dtype="float32"), R.Any))
        h: R.Tensor((n,), dtype="float32") = R.call_pure_packed("pp", x, ty_args=(R.Tensor((n,), dtype="float32"),))
        R.call_packed("void", x, ty_args=(R.Tuple,))
        i: R.Tuple(R.Tensor((n,), dtype="float32")) = (x,)
        R.tuple()
        l: T.int64 = n * 2
        o: R.Shape([n, n * 2, 4]) = R.shape([n, n * 2, 4])
        aa: R.Tensor((3,), dtype="int64") = metadata["relax.expr.Constant"][0]
        ab: R.Tensor((), dtype="uint8") = metadata["relax.expr.Constant"][1]
        ac: R.Tensor((), dtype="float64") = R.const("nan", "float64")
        ad: R.Tensor((), dtype="float16") = R.const("-inf", "float16")
        ae: R.Tensor((), dtype="bool") = R.const(True, "bool")
        af: R.Any = R.null_value()
        ag: R.Any = a
        return ag