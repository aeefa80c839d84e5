"""The scripts of `--tvm-script`: they are Python, ask TVM for what was found, and fail where TVM's values are others."""

import ast
import json
import os
import subprocess
import sys
import unittest
from pathlib import Path

import numpy as np

RLDB = os.environ["RLDB"]
FOLDER = Path(os.environ["FOLDER"])

MODULE = """
@I.ir_module
class M:
    @R.function
    def main(x: R.Tensor(("n", 4), "float32"), w: R.Tensor((4, 4), "float32"), k: R.Tensor((4,), "int32")):
        with R.dataflow():
            a = R.add(x, x)
            b = R.matmul(a, w)
            c = R.nn.relu(b)
            d = R.add(k, k)
            R.output(c, d)
        return (c, d)
"""

KERNEL = """
@I.ir_module
class M:
    @T.prim_func(private=True)
    def twice(A: T.Buffer((T.int64(4),), "float32"), C: T.Buffer((T.int64(4),), "float32")):
        for i in range(T.int64(4)):
            with T.sblock("s"):
                vi = T.axis.spatial(T.int64(4), i)
                C[vi] = A[vi] * T.float32(2)
"""

IN_PLACE = """
@I.ir_module
class M:
    @T.prim_func(private=True)
    def up(A: T.Buffer((4,), "float32")):
        for i in range(4):
            A[i] = A[i] * T.float32(2)

    @R.function(pure=False)
    def main(x: R.Tensor((4,), "float32")) -> R.Tensor((4,), "float32"):
        cls = M
        y = R.call_tir_inplace(cls.up, (x,), inplace_indices=[0], out_sinfo=R.Tensor((4,), "float32"))
        return y
"""


def rldb(*arguments):
    done = subprocess.run([RLDB, *map(str, arguments)], capture_output=True, text=True, check=False, cwd=FOLDER)
    return done.returncode, done.stdout + done.stderr


def run(script, **environment):
    """With the fake package: its exit code, its output, what it asked of TVM."""
    log = FOLDER / "log.jsonl"
    log.unlink(missing_ok=True)
    ast.parse(script.read_text())
    done = subprocess.run([sys.executable, str(script)], capture_output=True, text=True, check=False, env={**os.environ, "FAKE_TVM_LOG": str(log), **environment})
    asked = [json.loads(line) for line in log.read_text().splitlines()] if log.exists() else []
    return done.returncode, done.stdout + done.stderr, asked


class Script(unittest.TestCase):
    def setUp(self):
        (FOLDER / "m.py").write_text(MODULE)
        (FOLDER / "m2.py").write_text(MODULE.replace("nn.relu", "exp"))

    def head(self, script, said):
        lines = script.read_text().splitlines()
        head = lines[: next(i for i, line in enumerate(lines) if not line.startswith("#"))]
        self.assertLessEqual(len(head), 4)
        self.assertRegex(head[0], r"# rldb \S+, seed 0; .*TVM")
        self.assertIn(said, "\n".join(head))

    def test_compare(self):
        script = FOLDER / "s.py"
        self.assertEqual(rldb("compare", "m.py", "m2.py", "--tvm-script", script)[0], 1)
        self.head(script, "differs: m.py vs m2.py")
        code, text, asked = run(script)
        self.assertEqual(code, 1)
        self.assertIn("after the passes, result 0", text)
        self.assertEqual([entry[0] for entry in asked], ["ir_module", "ir_module", "compile", "run", "compile", "run"])

    def test_written_arguments(self):
        """A difference that is in the caller's tensors alone: the script looks at them too."""
        (FOLDER / "in.py").write_text(IN_PLACE)
        (FOLDER / "copy.py").write_text(IN_PLACE.replace("(cls.up, (x,)", "(cls.up, (R.concat((x,), axis=0),)"))
        script = FOLDER / "w.py"
        self.assertEqual(rldb("compare", "in.py", "in.py")[0], 0)
        self.assertEqual(rldb("compare", "copy.py", "in.py", "--tvm-script", script)[0], 1)
        text = script.read_text()
        ast.parse(text)
        self.assertIn("the arguments that it wrote to", text)
        self.assertEqual(rldb("compare", "in.py", "copy.py", "--tvm-script", script)[0], 1)
        # The result and the argument: the second program gives the result alone.
        self.assertEqual(sum(name.startswith("expected.") for name in np.load(FOLDER / "w.npz")), 2)

    def test_passes(self):
        script = FOLDER / "p.py"
        passes = "LegalizeOps,AnnotateTIROpPattern,FuseOps(fuse_opt_level=1),FuseTIR,DeadCodeElimination(entry_functions=[main])"
        self.assertEqual(rldb("bisect", "m.py", "--passes", passes, "--test", "grep -q fused", "--tvm-script", script)[0], 1)
        self.head(script, "pass: FuseOps")
        code, text, asked = run(script)
        self.assertEqual(code, 0, text)
        self.assertIn("no difference", text)
        self.assertIn(["pass", "FuseOps", [], {"fuse_opt_level": 1}], asked)
        self.assertIn(["pass", "DeadCodeElimination", [], {"entry_functions": ["main"]}], asked)
        self.assertEqual(run(script, FAKE_TVM_OFF="1")[0], 1)
        code, text, _ = run(script, FAKE_TVM_FAILS="FuseTIR")
        self.assertEqual(code, 1)
        self.assertIn("does not take this module", text)

    def test_tensorir_passes(self):
        script = FOLDER / "t.py"
        passes = "LegalizeOps,LowerInitBlock,BindTarget(target=T.target(\"llvm\"))"
        self.assertEqual(rldb("bisect", "m.py", "--passes", passes, "--test", "grep -q T.target", "--tvm-script", script)[0], 1)
        code, text, asked = run(script)
        self.assertEqual(code, 0, text)
        self.assertIn(["pass", "LowerInitBlock", [], {}], asked)
        self.assertIn(["pass", "BindTarget", [], {"target": "Target(llvm)"}], asked)

    def test_reduce(self):
        script, session = FOLDER / "r.py", FOLDER / "r.session"
        self.assertEqual(rldb("reduce", "m.py", "--test", "grep -q R.matmul", "--tvm-script", script, "--save-repro", session)[0], 0)
        self.assertEqual(run(script)[0], 0)
        code, text = rldb("test", session)  # it fails without options
        self.assertEqual(code, 1)
        self.assertIn("`grep -q R.matmul` finds the fault in the module", text)
        session.write_text(session.read_text().replace("q R.matmul", "q R.nothing"))
        self.assertEqual(rldb("test", session)[0], 0)

    def test_failing_pass(self):
        script = FOLDER / "f.py"
        code, text = rldb("bisect", "m.py", "--passes", "CanonicalizeBindings,Gradient(func_name=main)", "--tvm-script", script)
        self.assertEqual(code, 1, text)
        self.assertIn("the passes accept the module", run(script)[1])
        self.assertEqual(run(script, FAKE_TVM_FAILS="Gradient")[0], 1)
        self.assertIn(["pass", "Gradient", [], {"func_name": "main"}], run(script)[2])

    def test_narrow(self):
        (FOLDER / "b.py").write_text(MODULE.replace("float32", "bfloat16"))
        (FOLDER / "b2.py").write_text(MODULE.replace("float32", "bfloat16").replace("nn.relu", "exp"))
        script = FOLDER / "n.py"
        self.assertEqual(rldb("compare", "b.py", "b2.py", "--tvm-script", script)[0], 1)
        text = script.read_text()
        ast.parse(text)
        self.assertIn('DATA["x"].view("bfloat16")', text)
        self.assertEqual(np.load(FOLDER / "n.npz")["x"].dtype.itemsize, 2)

    def test_kernel(self):
        (FOLDER / "k.py").write_text(KERNEL)
        folder = FOLDER / "recorded"
        folder.mkdir(exist_ok=True)
        np.savez(folder / "calls.npz", a=np.arange(4, dtype="float32"), c=np.zeros(4, "float32"), d=np.ones(4, "float32"))
        tensor = lambda name: {"tensor": [4], "dtype": "float32", "npz": name}
        row = {"func": "twice", "args": [tensor("a"), tensor("c")], "ret": None, "after": {"1": tensor("d")}}
        (folder / "calls.jsonl").write_text(json.dumps(row) + "\n")
        script = FOLDER / "kernel.py"
        self.assertEqual(rldb("compare", "k.py", "--recorded", folder, "--tvm-script", script)[0], 1)
        self.head(script, "call 0, `twice`")
        code, text, asked = run(script)
        self.assertEqual(code, 1)  # the fake kernel writes nothing
        self.assertIn("the module, result 1", text)
        self.assertIn(["kernel", "twice", [[4], [4]]], asked)

    def test_refused(self):
        code, text = rldb("compare", "m.py", "m2.py", "--other-engine", "eval", "--tvm-script", FOLDER / "no.py")
        self.assertEqual(code, 2, text)
        self.assertIn("no script for TVM is written", text)
        self.assertFalse((FOLDER / "no.py").exists())


if __name__ == "__main__":
    unittest.main(argv=sys.argv, verbosity=0)
