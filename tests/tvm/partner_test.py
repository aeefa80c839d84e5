"""Partners of rldb: python/rldb_tvm.py --serve with the package `tvm` of the tests, and partners that are wrong on
purpose. What the fake TVM computes is rldb's own value, so that only a planted fault differs."""

import json
import os
import shutil
import subprocess
import sys
import unittest
from pathlib import Path

import numpy as np
import rldb_tvm

RLDB = os.environ["RLDB"]
FOLDER = Path(os.environ["FOLDER"])
SERVE = "%s python/rldb_tvm.py --serve --pipeline LegalizeOps" % sys.executable

MODULE = """
@I.ir_module
class Module:
    @R.function
    def main(x: R.Tensor((2, 3), "float32")) -> R.Tensor((2, 3), "float32"):
        with R.dataflow():
            a = R.exp(x)
            b = R.tanh(a)
            c = R.add(b, a)
            R.output(c)
        return c
"""

# A partner without a compiler: it greets, and then does what `answer` says.
WRONG = """
import json, os, sys, time
print(json.dumps({"partner": "wrong 1"}), flush=True)
for line in sys.stdin:
    q = json.loads(line)
    has_tanh = "tanh" in open(q["module"]).read()
    answer = {"id": q["id"], "fault": False}
    if has_tanh:
        %s
    print(json.dumps(answer), flush=True)
"""


def mpirun(*line, **environment):
    job = ["mpirun", "--oversubscribe", "-n", "3", RLDB, *line]
    root = {"OMPI_ALLOW_RUN_AS_ROOT": "1", "OMPI_ALLOW_RUN_AS_ROOT_CONFIRM": "1"}
    return subprocess.run(job, capture_output=True, text=True, timeout=300, env={**os.environ, **root, **environment})


def run(*line, **environment):
    return subprocess.run([RLDB, *line], capture_output=True, text=True, timeout=300, env={**os.environ, **environment})


class PartnerTest(unittest.TestCase):
    def setUp(self):
        (FOLDER / "m.py").write_text(MODULE)

    def wrong(self, statement):
        (FOLDER / "wrong.py").write_text(WRONG % statement)
        return "%s %s" % (sys.executable, FOLDER / "wrong.py")

    def reduce(self, command, *more, **environment):
        out = FOLDER / "small.py"
        out.unlink(missing_ok=True)
        made = run("reduce", FOLDER / "m.py", "--test-server=" + command, "-o", out, *more, **environment)
        return made, out.read_text() if out.exists() else ""

    def test_right(self):
        made = run("fuzz", "--against=" + SERVE, "--programs=12", "--seed=5")
        self.assertEqual(made.returncode, 0, made.stdout + made.stderr)
        self.assertIn("against tvm 0.0.fake", made.stdout)

    def test_wrong_value(self):
        folder = FOLDER / "found"
        made = run("fuzz", "--against=" + SERVE, "--programs=12", "--seed=5", "-o", folder, FAKE_TVM_OFF="1")
        self.assertEqual(made.returncode, 1, made.stdout + made.stderr)
        self.assertIn("values: ", made.stdout)
        script = next(iter(folder.glob("*.session")))
        self.assertTrue(list(folder.glob("*.py")))
        self.assertEqual(run("test", "--trust-scripts", script, FAKE_TVM_OFF="1").returncode, 1)
        self.assertEqual(run("test", "--trust-scripts", script).returncode, 0)

    def test_one_fault_in_many_programs(self):
        made = run("fuzz", "--against=" + SERVE, "--programs=6", "--seed=5", "--format=json", FAKE_TVM_FAILS="LegalizeOps")
        self.assertEqual(made.returncode, 1, made.stdout + made.stderr)
        report = json.loads(made.stdout)
        self.assertEqual(len(report["findings"]), 1)
        found = report["findings"][0]
        self.assertGreater(found["programs"], 1)
        self.assertEqual(len(found["seeds"]), found["programs"])
        self.assertIn("the pass does not take this module", found["group"])
        self.assertIn("def main", found["module"])
        self.assertEqual(report["programs"], 6)

    @unittest.skipUnless(shutil.which("mpirun"), "there is no mpirun")
    def test_ranks(self):
        line = ["fuzz", "--against=" + SERVE, "--programs=12", "--seed=5"]
        for more, environment in (([], {}), (["--jobs=2"], {}), ([], {"FAKE_TVM_OFF": "1"})):
            alone = run(*line, **environment)
            ranks = mpirun(*line, *more, **environment)
            self.assertEqual(ranks.returncode, alone.returncode, ranks.stderr)
            self.assertEqual(ranks.stdout, alone.stdout)

    @unittest.skipUnless(shutil.which("mpirun"), "there is no mpirun")
    def test_a_rank_without_partner(self):
        command = 'test "$OMPI_COMM_WORLD_RANK" != 2 && exec %s; echo none here >&2; exit 3' % SERVE
        made = mpirun("fuzz", "--against=" + command, "--programs=60", "--seed=5")
        self.assertNotEqual(made.returncode, 0, made.stdout)
        self.assertIn("of rank 2: ", made.stderr)
        self.assertIn("none here", made.stderr)

    def test_reduce_values(self):
        made, text = self.reduce(SERVE, FAKE_TVM_OFF="1")
        self.assertEqual(made.returncode, 0, made.stderr)
        self.assertNotIn("R.tanh", text)

    def test_failing_pass(self):
        made, _ = self.reduce(SERVE, FAKE_TVM_FAILS="LegalizeOps")
        self.assertEqual(made.returncode, 0, made.stderr)
        self.assertIn("symptom: diagnostic: ValueError: the pass does not take this module", made.stderr)

    def test_crash(self):
        made, text = self.reduce(self.wrong("os.kill(os.getpid(), 11)"))
        self.assertEqual(made.returncode, 0, made.stderr)
        self.assertIn("symptom: signal: the partner ends with signal 11", made.stderr)
        self.assertIn("R.tanh", text)
        self.assertNotIn("R.exp", text)

    def test_exit_with_a_message(self):
        made, text = self.reduce(self.wrong("sys.exit('tanh is not my kind of function')"))
        self.assertEqual(made.returncode, 0, made.stderr)
        self.assertIn("exit code 1: tanh is not my kind of function", made.stderr)
        self.assertNotIn("R.exp", text)

    def test_hang(self):
        made, text = self.reduce(self.wrong("time.sleep(1000)"), "--partner-seconds=0.5")
        self.assertEqual(made.returncode, 0, made.stderr)
        self.assertIn("the partner gives no answer within 0.5 s", made.stderr)
        self.assertNotIn("R.exp", text)

    def test_fault_by_its_own_words(self):
        made, text = self.reduce(self.wrong("answer = {'id': q['id'], 'fault': True, 'text': 'tanh of 7'}"))
        self.assertEqual(made.returncode, 0, made.stderr)
        self.assertIn("symptom: command: tanh of 7", made.stderr)

    def test_garbage(self):
        made, _ = self.reduce(self.wrong("answer = 'what?'"))
        self.assertEqual(made.returncode, 125, made.stderr)
        self.assertIn("its answer is not an object in JSON", made.stderr)

    def test_another_id(self):
        made, _ = self.reduce(self.wrong("answer['id'] = 0"))
        self.assertEqual(made.returncode, 125, made.stderr)
        self.assertIn("its answer lacks the `id` of the question", made.stderr)

    def test_refuses(self):
        made, _ = self.reduce(self.wrong("answer = {'id': q['id'], 'refused': 'no tanh'}"))
        self.assertEqual(made.returncode, 125, made.stderr)
        self.assertIn("the partner refuses it: no tanh", made.stderr)

    def test_dies_at_start(self):
        for command, why in (
            ("echo no compiler here >&2; exit 3", "it ended before its greeting, with exit code 3: no compiler here"),
            ("echo hello", "its first line is not a greeting"),
            ("exec no-such-command-at-all", "exit code 127"),
        ):
            made = run("fuzz", "--against=" + command, "--programs=1")
            self.assertEqual(made.returncode, 2, made.stderr)
            self.assertIn(why, made.stderr)

    def test_arguments_that_json_lacks(self):
        for text, form in (("inf", {"float": "inf"}), ("-inf", {"float": "-inf"}), ("nan", {"float": "nan"}), ("1.5", 1.5)):
            (FOLDER / "m.py").write_text(MODULE.replace('"float32"))', '"float32"), y: R.Prim("float32"))', 1))
            check = "answer['fault'] = q.get('arguments', [0, %r])[1] != %r" % (form, form)
            made, _ = self.reduce(self.wrong(check), "--input=y=" + text)
            self.assertIn("the program shows no symptom", made.stderr)

    def test_arguments_read(self):
        read = lambda value: rldb_tvm._argument(value, None, None)
        self.assertEqual(read({"tuple": [{"float": "-inf"}, 2, True, "a", None]}), [float("-inf"), 2, True, "a", None])
        self.assertTrue(np.isnan(read([{"float": "nan"}])[0]))
        with self.assertRaisesRegex(ValueError, "without a value"):
            read({"object": "Module"})

    def test_argument_that_the_glue_cannot_read(self):
        (FOLDER / "m.py").write_text(MODULE.replace("float32", "bfloat16"))
        (FOLDER / "ml_dtypes.py").write_text("raise ModuleNotFoundError('no ml_dtypes')")
        made, _ = self.reduce(SERVE, PYTHONPATH="%s:%s" % (FOLDER, os.environ["PYTHONPATH"]))
        self.assertEqual(made.returncode, 125, made.stderr)
        self.assertIn("the partner refuses it: ", made.stderr)

    def test_memory(self):
        made, _ = self.reduce(self.wrong("bytearray(1 << 30)"), "--partner-memory=256M")
        self.assertEqual(made.returncode, 0, made.stderr)
        self.assertIn("MemoryError", made.stderr)


if __name__ == "__main__":
    unittest.main()
