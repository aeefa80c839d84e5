"""python/rldb_tvm.py with a machine that is made up: what it records, rldb reads; a wrong result is named."""

import json
import os
import subprocess
import sys
import unittest
from pathlib import Path

import numpy as np
import rldb_tvm
import tvm

RLDB = os.environ["RLDB"]
FOLDER = Path(os.environ["FOLDER"])

MODULE = """
@I.ir_module
class Module:
    @T.prim_func(private=True)
    def add_in_place(a: T.handle, b: T.handle):
        n = T.int64()
        A = T.match_buffer(a, (n,), "float32")
        B = T.match_buffer(b, (n,), "float32")
        for i in T.serial(n):
            with T.sblock("s"):
                vi = T.axis.spatial(n, i)
                A[vi] = A[vi] + B[vi]

    @T.prim_func(private=True)
    def scale(a: T.handle, k: T.int64, c: T.handle):
        n = T.int64()
        A = T.match_buffer(a, (n, T.int64(2)), "float32")
        C = T.match_buffer(c, (n, T.int64(2)), "float32")
        for i, j in T.grid(n, T.int64(2)):
            with T.sblock("s"):
                vi, vj = T.axis.remap("SS", [i, j])
                C[vi, vj] = A[vi, vj] * T.Cast("float32", k)

    @T.prim_func(private=True)
    def narrow(A: T.Buffer((T.int64(4),), "uint8"), C: T.Buffer((T.int64(4),), "uint8")):
        for i in range(T.int64(4)):
            with T.sblock("s"):
                vi = T.axis.spatial(T.int64(4), i)
                C[vi] = A[vi] // T.uint8(2)

    @R.function
    def main(x: R.Tensor(("n",), "float32")) -> R.Tensor(("n",), "float32"):
        return x
"""

TWICE = """@R.function(private=True)
    def twice(x: R.Tensor(("n",), "float32")) -> R.Tensor(("n",), "float32"):
        n = T.int64()
        return R.add(x, x)

"""


def program(wrong):
    """Calls as TVM's machine makes them; `wrong` is the name of a kernel with a wrong result."""

    def run(vm, function, args):
        x, y = args
        tensor = tvm.runtime.tensor
        void = tvm.c_void_p()
        off = lambda name: 1 if name == wrong else 0
        vm.call("vm.builtin.alloc_storage", lambda *a: tvm.Storage(), void, tvm.Shape((64,)), 0, "uint8", "global")
        vm.call("vm.builtin.check_tensor_info", lambda *a: None, x, 1, "float32", "")

        def add(a, b):
            a.array += b.array + off("add_in_place")

        vm.call("add_in_place", add, x, y)
        vm.call("add_in_place", add, x, x)  # one tensor, twice
        view = vm.call("vm.builtin.reshape", lambda a, s: tensor(a.array.reshape(s)), x, tvm.Shape((3, 2)))
        out = tensor(np.full((3, 2), np.nan, "float32"))

        def scale(a, k, c):
            c.array[:] = a.array * k + off("scale")

        vm.call("scale", scale, view, 3, out)

        def narrow(a, c):
            c.array[:] = a.array // 2 + off("narrow")

        vm.call("narrow", narrow, tensor(np.array([0, 255, 7, 3], "uint8")), tensor(np.zeros(4, "uint8")))
        vm.call("custom_add", lambda a, b: tensor(a.array + b.array), x, y)  # a packed function
        if wrong == "unknown":
            vm.call("cutlass_gemm", lambda a, b: None, x, y)
        vm.call("vm.builtin.null_value", lambda *a: None)
        return out

    return run


def record(wrong, folder, **options):
    tvm.program = program(wrong)
    vm = tvm.relax.VirtualMachine(tvm.compile(tvm.script.from_source(MODULE), "llvm"), tvm.cpu())
    with rldb_tvm.record(vm, folder, **options):
        vm["main"](tvm.runtime.tensor(np.arange(6, dtype="float32")), tvm.runtime.tensor(np.ones(6, "float32")))
    return tvm.script.from_source(MODULE)


def verdict(wrong, *arguments, **options):
    folder = FOLDER / ("run-" + (wrong or "right"))
    (FOLDER / "module.py").write_text(MODULE)
    record(wrong, folder, **options)
    line = [RLDB, "compare", str(FOLDER / "module.py"), "--recorded", str(folder), *arguments]
    done = subprocess.run(line, capture_output=True, text=True, check=False)
    return done.returncode, done.stdout + done.stderr


class Record(unittest.TestCase):
    def test_right(self):
        for engine in ("jit", "eval", "vm"):
            code, text = verdict(None, "--engine=" + engine)
            self.assertEqual(code, 0, text)
            self.assertIn("compared: 6 of 9 calls (5 calls of 4 kernels); 3 only allocate or check", text)

    def test_wrong(self):
        for name, number in (("add_in_place", 2), ("scale", 5), ("narrow", 6)):
            code, text = verdict(name)
            self.assertEqual(code, 1, text)
            self.assertTrue(text.startswith("call %d, `%s`" % (number, name)), text)
            self.assertIn("the fault is in this call", text)

    def test_json(self):
        code, text = verdict("narrow", "--format=json")
        found = json.loads(text)
        self.assertEqual((code, found["verdict"], found["first"]["name"], found["first"]["argument"]), (1, "differs", "narrow", 1))
        self.assertEqual((found["first"]["recorded"], found["first"]["ours"]), (1, 0))

    def test_function_of_the_module(self):
        for off, code in ((0, 0), (1, 1)):
            with self.subTest(off=off):
                self.assertEqual(self.nested(off)[0], code, self.nested(off)[1])
        self.assertTrue(self.nested(1)[1].startswith("call 0, `twice`"), self.nested(1)[1])

    def nested(self, off):
        """The function `twice` of the module, whose own result is wrong by `off` where its kernel's is right."""
        text = MODULE.replace("@R.function", TWICE + "    @R.function")

        def run(vm, function, args):
            def twice(x):
                sum = tvm.runtime.tensor(x.array.copy())
                vm.call("add_in_place", lambda a, b: np.add(a.array, b.array, out=a.array), sum, x)
                return tvm.runtime.tensor(sum.array + off)

            return vm.call("twice", twice, args[0])

        tvm.program = run
        vm = tvm.relax.VirtualMachine(tvm.compile(tvm.script.from_source(text), "llvm"), tvm.cpu())
        with rldb_tvm.record(vm, FOLDER / "nested"):
            vm["main"](tvm.runtime.tensor(np.arange(6, dtype="float32")))
        (FOLDER / "module.py").write_text(text)
        line = [RLDB, "compare", FOLDER / "module.py", "--recorded", FOLDER / "nested"]
        done = subprocess.run(line, capture_output=True, text=True, check=False)
        return done.returncode, done.stdout + done.stderr

    def test_options_without_use(self):
        for option in ("--shadow", "--input=x=ones", "--other-engine=vm"):
            code, text = verdict(None, option)
            self.assertEqual(code, 2, text)
            self.assertIn("--recorded: is not for", text)

    def test_unknown(self):
        code, text = verdict("unknown")
        self.assertEqual(code, 125, text)
        self.assertIn("not compared: 1 call of `cutlass_gemm`", text)

    def test_skipped(self):
        code, text = verdict(None, skip=lambda name: name == "scale")
        self.assertEqual(code, 125, text)
        self.assertIn("1 call of `scale`: it has no result", text)

    def test_without_contents(self):
        code, text = verdict(None, most_bytes=100)
        self.assertEqual(code, 125, text)
        self.assertIn("a tensor without its contents was recorded", text)

    def test_raised(self):
        folder = FOLDER / "raised"

        def fails(vm, function, args):
            def stop(a):
                raise RuntimeError("stop")

            vm.call("scale", stop, args[0])

        tvm.program = fails
        vm = tvm.relax.VirtualMachine(tvm.compile(tvm.script.from_source(MODULE), "llvm"), tvm.cpu())
        with self.assertRaises(RuntimeError), rldb_tvm.record(vm, folder):
            vm["main"](tvm.runtime.tensor(np.ones(2, "float32")))
        self.assertIsNone(vm.instrument)
        rows = [json.loads(line) for line in (folder / rldb_tvm.INDEX).read_text().splitlines()]
        self.assertEqual([(row["func"], "ret" in row) for row in rows], [("scale", False)])

    def test_safetensors(self):
        """The same tensors in the other container."""
        folder = FOLDER / "safe"
        record("scale", folder)
        tensors = np.load(folder / rldb_tvm.TENSORS)
        names = {"float32": "F32", "uint8": "U8"}
        header, data = {}, b""
        for name in tensors.files:
            bytes_ = tensors[name].tobytes()
            header[name] = {"dtype": names[str(tensors[name].dtype)], "shape": list(tensors[name].shape), "data_offsets": [len(data), len(data) + len(bytes_)]}
            data += bytes_
        tensors.close()
        (folder / rldb_tvm.TENSORS).unlink()
        text = json.dumps(header).encode()
        (folder / "calls.safetensors").write_bytes(len(text).to_bytes(8, "little") + text + data)
        (FOLDER / "module.py").write_text(MODULE)
        self.assertEqual(subprocess.run([RLDB, "compare", str(FOLDER / "module.py"), "--recorded", str(folder)], stdout=subprocess.DEVNULL, check=False).returncode, 1)

    def test_damaged(self):
        folder = FOLDER / "damaged"
        (FOLDER / "module.py").write_text(MODULE)
        record(None, folder)
        index = folder / rldb_tvm.INDEX
        for text, said in (("{\n", "line 1"), ('{"func": "scale", "args": 3}\n', "line 1"), ('{"func": "scale", "args": [{"tensor": [1], "dtype": "float32", "npz": "no"}, 1, null], "ret": null}\n', "no tensor `no`"), ("[" * 100000 + "\n", "line 1"), ('{"func":"scale","args":[' + "[" * 5000 + "]" * 5000 + '],"ret":null}\n', "nested too deeply")):
            index.write_text(text)
            done = subprocess.run([RLDB, "compare", str(FOLDER / "module.py"), "--recorded", str(folder)], capture_output=True, text=True, check=False)
            self.assertIn(said, done.stdout + done.stderr)
            self.assertIn(done.returncode, (2, 125))

    def test_dump(self):
        tvm.program = None
        with tvm.transform.PassContext(instruments=[rldb_tvm.dump_ir(FOLDER / "ir")]):
            tvm.compile(tvm.script.from_source(MODULE), "llvm")
        names = sorted(p.name for p in (FOLDER / "ir").iterdir())
        self.assertEqual(names, ["000_Input.py", "001_LegalizeOps.py", "002_ToNonDataflow.py"])
        done = subprocess.run([RLDB, "bisect", "--trace", str(FOLDER / "ir")], capture_output=True, text=True, check=False)
        self.assertIn("3 stages, 3 can be run", done.stdout)

    def test_whole(self):
        tvm.program = program(None)
        (FOLDER / "m.py").write_text(MODULE)
        np.savez(FOLDER / "in.npz", x=np.arange(6, dtype="float32"), y=np.ones(6, "float32"))
        names = ["x", "y"]
        make = tvm.IRModule
        tvm.script.from_source = lambda text: make(text, names)
        code = rldb_tvm.main([str(FOLDER / "m.py"), "-o", str(FOLDER / "whole"), "--inputs", str(FOLDER / "in.npz"), "--compare"])
        self.assertEqual(code, 0)
        tvm.script.from_source = make


if __name__ == "__main__":
    unittest.main(argv=sys.argv, verbosity=0)
