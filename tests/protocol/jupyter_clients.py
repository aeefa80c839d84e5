"""Real clients of the notebook's kernel: Jupyter's own test of kernels, an interruption, and the example notebook.

usage: jupyter_clients.py RLDB NOTEBOOK [--bless]; prints `N passed, N failed` last
"""
import os
import subprocess
import sys
import tempfile
import time
import unittest

rldb, notebook = os.path.abspath(sys.argv[1]), os.path.abspath(sys.argv[2])
bless = "--bless" in sys.argv
folder = tempfile.TemporaryDirectory()
os.environ["JUPYTER_DATA_DIR"] = folder.name
os.environ["JUPYTER_RUNTIME_DIR"] = folder.name + "/runtime"
os.environ["JUPYTER_PLATFORM_DIRS"] = "1"
subprocess.run([rldb, "jupyter", "install"], check=True, stdout=subprocess.DEVNULL)

import jupyter_kernel_test  # noqa: E402
import nbformat  # noqa: E402
from nbclient import NotebookClient  # noqa: E402


class Kernel(jupyter_kernel_test.KernelTests):
    kernel_name = "rldb"
    language_name = "tvmscript"
    file_extension = ".py"
    code_hello_world = "!echo hello, world"
    code_stderr = "!echo trouble >&2"
    completion_samples = [{"text": "R.matm", "matches": {"R.matmul"}}, {"text": ":hist", "matches": {"history"}}]
    complete_code_samples = ["1 + 1", ":history", "x = R.const(1)"]
    incomplete_code_samples = ["@R.function\ndef f():", "R.add(1,"]
    code_generate_error = ":show nothing"
    code_execute_result = [{"code": "1 + 2", "result": "3\n"}]
    code_display_data = [{"code": "1\n2", "mime": "text/html"}]
    code_history_pattern = "1?+*"
    supported_history_operations = ("tail", "range", "search")
    code_inspect_sample = "R.matmul"


SLOW = """@I.ir_module
class Module:
    @T.prim_func(s_tir=True)
    def spin(A: T.Buffer((1,), "int64")):
        for i in range(1 << 50):
            with T.sblock("a"):
                A[0] = A[0] + T.Cast("int64", i) % T.int64(7)

    @R.function
    def main() -> R.Tensor((1,), "int64"):
        cls = Module
        return R.call_tir(cls.spin, (), out_ty=R.Tensor((1,), "int64"))
"""


class Manager(unittest.TestCase):
    """A kernel of its own for each test."""

    def setUp(self):
        self.manager, self.client = jupyter_kernel_test.start_new_kernel(kernel_name="rldb")

    def tearDown(self):
        self.client.stop_channels()
        self.manager.shutdown_kernel(now=True)

    def interrupt(self, code):
        message = self.client.execute(code)
        time.sleep(1.5)
        begun = time.monotonic()
        self.manager.interrupt_kernel()
        reply = self.client.get_shell_msg(timeout=10)
        self.assertEqual(reply["parent_header"]["msg_id"], message)
        return reply["content"], time.monotonic() - begun

    def test_interruption_of_a_compiled_kernel(self):
        self.client.execute_interactive(SLOW, timeout=20, output_hook=lambda message: None)
        content, seconds = self.interrupt("main()")
        self.assertLess(seconds, 5)  # a fraction of a second, unless the machine is busy
        reply = self.client.execute_interactive("1 + 1", timeout=20, output_hook=lambda message: None)
        self.assertEqual(reply["content"]["status"], "ok")

    def test_cells_after_a_failure_are_left_out(self):
        for code in ("1 +", "2", "3"):
            last = self.client.execute(code)
        replies = [self.client.get_shell_msg(timeout=10)["content"]["status"] for _ in range(3)]
        self.assertEqual(replies[0], "error")
        self.assertIn(replies[2], ("aborted", "ok"))
        self.assertTrue(last)

    def test_shutdown_is_in_order(self):
        self.client.execute_interactive("1", timeout=20, output_hook=lambda message: None)
        self.manager.shutdown_kernel()
        self.assertFalse(self.manager.is_alive())


def texts(cell):
    """The outputs of a cell without what differs from version to version: HTML with its style."""
    shown = []
    for output in cell.get("outputs", []):
        if output["output_type"] == "stream":
            shown.append((output["name"], output["text"]))
        elif output["output_type"] == "error":
            shown.append(("error", output["evalue"]))
        else:
            shown.append((sorted(output["data"]), output["data"].get("text/plain")))
    return shown


class Example(unittest.TestCase):
    def test_example_shows_what_it_shows(self):
        stored = nbformat.read(notebook, as_version=4)
        run = nbformat.from_dict(stored.copy())
        NotebookClient(run, timeout=60, kernel_name="rldb", allow_errors=True).execute()
        if bless:
            for cell in run.cells:
                cell.metadata.pop("execution", None)
            run.metadata = {"kernelspec": {"display_name": "Relax (rldb)", "language": "tvmscript", "name": "rldb"}}
            nbformat.write(run, notebook)
            return
        for number, (before, after) in enumerate(zip(stored.cells, run.cells)):
            self.assertEqual(texts(before), texts(after), f"cell {number}")


if __name__ == "__main__":
    suite = unittest.TestSuite()
    for case in (Kernel, Manager, Example):
        suite.addTests(unittest.defaultTestLoader.loadTestsFromTestCase(case))
    result = unittest.TextTestRunner(stream=sys.stderr, verbosity=2).run(suite)
    bad = len(result.failures) + len(result.errors)
    print(f"{result.testsRun - bad - len(result.skipped)} passed, {bad} failed")
    sys.exit(1 if bad else 0)
