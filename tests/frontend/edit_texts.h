// Texts of several kinds, from which random edits start. Used by the tests of documents and by the fuzz target.
#pragma once

#include <string_view>

namespace rldb::frontend::testing {

// Values in between, between names that look like theirs; in a branch and a local function, too.
inline constexpr std::string_view kNested = R"(@I.ir_module
class Module:
    @R.function
    def main(x: R.Tensor((4, 4), "float32"), c: R.Tensor((), "bool")):
        first = R.add(R.exp(x), R.exp(x))
        with R.dataflow():
            lv1 = R.add(R.exp(first), R.exp(x))
            lv3 = R.multiply(lv1, R.exp(R.negative(x)))
            a = R.add(R.exp(lv3), R.exp(lv1))
            gv1 = R.subtract(R.exp(a), lv3)
            R.output(gv1)
        if c:
            w = R.add(R.exp(gv1), R.exp(x))
        else:
            w = R.exp(R.exp(gv1))
        @R.function
        def inner(q: R.Tensor((4, 4), "float32")) -> R.Tensor((4, 4), "float32"):
            lv7 = R.add(R.exp(q), R.exp(w))
            return lv7
        u = inner(R.exp(w))
        gv4 = R.add(R.exp(u), u)
        return gv4
)";

// Functions of a file without a class.
inline constexpr std::string_view kLone = R"(from tvm.script import relax as R

@R.function
def helper(x: R.Tensor(("n", 4), "float32")) -> R.Tensor(("n", 4), "float32"):
    n = T.int64()
    a = R.add(x, x)
    return a

@T.prim_func
def kernel(A: T.Buffer((4,), "float32")):
    for i in range(4):
        A[i] = T.float32(1)

@R.function
def main(x: R.Tensor((4, 4), "float32")):
    y = helper(x)
    lv = R.add(y, x)
    lv1 = R.multiply(lv, y)
    return lv1
)";

// Kernels with blocks in blocks, loops of each kind, branches, scalars that are stored to; constants of the file.
inline constexpr std::string_view kKernels = R"(from tvm.script import ir as I
from tvm.script import tirx as T

@I.ir_module
class Kernels:
    @T.prim_func(s_tir=True)
    def product(A: T.Buffer((16, 16), "float32"), B: T.Buffer((16, 16), "float32"), C: T.Buffer((16, 16), "float32")):
        with T.sblock("root"):
            T.reads()
            T.writes()
            D = T.sblock_alloc_buffer((16, 16), "float32", scope="local")
            for i, j, k in T.grid(16, 16, 16):
                with T.sblock("update"):
                    vi, vj, vk = T.axis.remap("SSR", [i, j, k])
                    T.where(i < 15 and j > 2)
                    T.reads(A[vi, vk], B[vj, vk])
                    T.writes(D[vi, vj])
                    with T.init():
                        D[vi, vj] = T.float32(0)
                    D[vi, vj] = D[vi, vj] + A[vi, vk] * B[vj, vk]
            for i in T.parallel(16):
                for j in T.vectorized(16):
                    with T.sblock("copy"):
                        vi = T.axis.spatial(16, i)
                        vj = T.axis.spatial(16, j)
                        C[vi, vj] = D[vi, vj]

    @T.prim_func(private=True, s_tir=True)
    def branches(A: T.Buffer((16,), "int32"), n: T.int32):
        T.func_attr({"tirx.noalias": True})
        count: T.int32 = 0
        while count < n:
            if A[count] > 3:
                A[count] = 1
            elif A[count] > 2:
                A[count] = 2
            else:
                if n > 4:
                    A[count] = 3
                else:
                    A[count] = 4
            count = count + 1
        y: T.let[T.int32] = n * 2
        assert y > 0, ("ValueError", ["y is positive"])
        for t in T.thread_binding(4, thread="threadIdx.x"):
            A[t] = T.Select(t < 2, y, n)
)";

// Branches and local functions within each other, a class with attributes and other names, decorators with options.
inline constexpr std::string_view kBranches = R"(from tvm.script import ir as I
from tvm.script import relax as R

@I.ir_module
class Other:
    I.module_attrs({"a": 1})
    I.module_global_infos({"vdevice": [I.vdevice("llvm"), I.vdevice("cuda", 0)]})
    far = R.ExternFunc("far", R.Callable((R.Tensor,), R.Tensor(dtype="float32", ndim=2), True))

    @R.function(private=True, pure=False)
    def side(x: R.Tensor((2, 3), "float32")) -> R.Tensor((2, 3), "float32"):
        R.func_attr({"note": "one"})
        R.print(x, format="{}")
        return x

    @R.function(pure=False)
    def main(
        x: R.Tensor((2, 3), "float32"),
        c: R.Tensor((), "bool"),
        d: R.Tensor((), "bool"),
    ) -> R.Tensor((2, 3), "float32"):
        cls = Other
        if c:
            if d:
                a = R.exp(x)
                r = R.add(a, x)
            else:
                r = cls.side(x)
        else:
            b = R.log(x)

            # the last of them
            r = R.multiply(b, R.const([[1.0, 2.0, 3.0], [4.0, 5.0, 6.0]], "float32"))

        @R.function(pure=True)
        def inner(
            p: R.Tensor((2, 3), "float32"), q: R.Tensor((), "bool")
        ) -> R.Tensor((2, 3), "float32"):
            if q:
                s = R.negative(p)
            else:
                s = R.sqrt(p)
            return s

        t = inner(r, d); u = R.tuple(t, r)
        v = u[0]
        return v
)";

// Text around the class: constants that are loaded, functions of Python, a second class.
inline constexpr std::string_view kMetadata = R"x(metadata = tvm.ir.load_json("""{
  \"root\": 1, 
  \"nodes\": [
    {\"type_key\": \"\"}, 
    {\"type_key\": \"Map\", \"keys\": [\"relax.expr.Constant\"], \"data\": [2]}, 
    {\"type_key\": \"Array\", \"data\": [3]}, 
    {\"type_key\": \"relax.expr.Constant\", 
     \"attrs\": {\"_checked_type_\": \"0\", \"data\": \"0\", \"span\": \"0\", \"struct_info_\": \"4\"}}, 
    {\"type_key\": \"relax.TensorStructInfo\", 
     \"attrs\": {\"dtype\": \"float32\", \"ndim\": \"1\", \"shape\": \"0\", \"span\": \"0\", \"vdevice\": \"0\"}}
  ], 
  \"b64ndarrays\": [
    \"P6G0lvBAXt0AAAAAAAAAAAEAAAAAAAAAAQAAAAIgAQACAAAAAAAAAAgAAAAAAAAAAADAPwAAIEA=\"
  ], 
  \"attrs\": {\"tvm_version\": \"0.16.0\"}
}""")
from tvm.script import ir as I, relax as R

SIZE = 2

def plain(x):
    if x:
        return 1
    else:
        return 2

@I.ir_module
class Module:
    @R.function
    def main(x: R.Tensor((2,), dtype="float32")) -> R.Tensor((2,), dtype="float32"):
        with R.dataflow():
            lv: R.Tensor((2,), dtype="float32") = R.add(x, metadata["relax.expr.Constant"][0])
            gv: R.Tensor((2,), dtype="float32") = R.multiply(lv, R.const(2.0, "float32"))
            R.output(gv)
        return gv
)x";

// RFC 0089's spelling, with macros.
inline constexpr std::string_view kRfc = R"(from tvm.script import relax as R, tir as T

@R.macro
def twice(a):
    return R.add(a, a)

@tvm.script.ir_module
class MyIRModule:
    @T.prim_func
    def product(x: T.handle, y: T.handle, z: T.handle) -> None:
        m = T.var("int64")
        n = T.var("int64")
        k = T.var("int64")
        A = T.match_buffer(x, (m, n))
        B = T.match_buffer(y, (n, k))
        C = T.match_buffer(z, (m, k))
        for i0, j0, k0 in T.grid(m, k, n):
            with T.block("product"):
                vi, vj, vk = T.axis.remap("SSR", [i0, j0, k0])
                with T.init():
                    C[vi, vj] = T.float32(0)
                C[vi, vj] += A[vi, vk] * B[vk, vj]

    @R.function
    def main(x: R.Tensor[(m, n), "float32"], y: R.Tensor[(n, k), "float32"]):
        with R.dataflow():
            gv0 = R.call_tir(product, (x, y), (m, k), dtype="float32")
            w = twice(gv0)
            R.outputs(w)
        R.call_packed("custom_print", w)
        return w
)";

// Many small functions that call each other, with blank lines and comments between them.
inline constexpr std::string_view kMany = R"(# Calls in a row.
from tvm.script import ir as I
from tvm.script import relax as R

@I.ir_module
class Module:
    @R.function
    def a(x: R.Tensor((4,), "float32")) -> R.Tensor((4,), "float32"):
        y = R.exp(x)
        return y

    # the next one
    @R.function
    def b(x: R.Tensor((4,), "float32")):
        y = Module.a(x)
        return y
    @R.function
    def c(x: R.Tensor((4,), "float32")):
        y = Module.b(x)
        z = Module.a(y)
        return z


    @R.function(private=True)
    def d(x: R.Tensor(("n",), "float32")):
        n = T.int64()
        y = R.add(x, x)
        return y

    @R.function
    def e(x: R.Tensor((4,), "float32")):
        y = Module.d(x)
        z = Module.c(y)
        return z
)";

// Syntax to put into them.
inline constexpr std::string_view kEditPieces[] = {"(",
                                                   ")",
                                                   ",",
                                                   ":",
                                                   "\n",
                                                   "    ",
                                                   "x",
                                                   "lv",
                                                   "R.",
                                                   "= 1",
                                                   "\"",
                                                   "#",
                                                   "[0]",
                                                   "\n        y = x\n",
                                                   "R.add(x, x)",
                                                   "return x",
                                                   "T.",
                                                   "if c:",
                                                   "        if c\n",
                                                   "        else:\n",
                                                   " \\\n",
                                                   "    @R.function\n",
                                                   "        elif",
                                                   "        for\n",
                                                   "    def g\n",
                                                   "+ x",
                                                   "gv",
                                                   "1",
                                                   "lv2",
                                                   "lv4 = x\n",
                                                   "gv5",
                                                   "R.exp(x)",
                                                   "\t",
                                                   "\\",
                                                   "@",
                                                   "with R.dataflow():\n",
                                                   "def",
                                                   "class",
                                                   "float16",
                                                   "R.output(",
                                                   "n = T.int64()\n",
                                                   "(4, 4)",
                                                   "None",
                                                   "\xc3\xa9"};

struct EditText {
  std::string_view name;
  std::string_view text;
};
inline constexpr EditText kEditTexts[] = {
    {"nested", kNested},     {"lone", kLone}, {"kernels", kKernels}, {"branches", kBranches},
    {"metadata", kMetadata}, {"rfc", kRfc},   {"many", kMany},
};

}  // namespace rldb::frontend::testing
