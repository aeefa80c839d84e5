"""TVM beside rldb: records a run of the Relax virtual machine, writes the IR after each pass, and opens rldb.

In a program:

    import rldb_tvm
    with tvm.transform.PassContext(instruments=[rldb_tvm.dump_ir("ir")]):
        ex = tvm.compile(mod, target)
    vm = relax.VirtualMachine(ex, device)
    with rldb_tvm.record(vm, "run"):
        vm["main"](*inputs)
    rldb_tvm.compare(mod, "run")         # rldb compare MODULE --recorded run

From a shell:

    python3 rldb_tvm.py MODULE.py -o DIR [--target llvm] [--function main] [--inputs FILE.npz] [--compare]
    python3 rldb_tvm.py --serve [--pipeline NAME] [--target llvm]     # a partner: rldb fuzz --against, reduce --test-server

`rldb bisect --trace ir` reads what `dump_ir` writes, `rldb compare MODULE --recorded run` what `record` writes.
Needs numpy and tvm, and for the last step rldb: on the PATH, or named by the environment variable RLDB.
"""

import argparse
import hashlib
import json
import math
import os
import subprocess
import sys
import zipfile
from pathlib import Path

import numpy as np

INDEX = "calls.jsonl"
TENSORS = "calls.npz"
MODULE = "module.py"
# Tensors beyond this many bytes are recorded without their contents.
MOST_BYTES = 4 << 30


def _is_tensor(x):
    return hasattr(x, "numpy") and hasattr(x, "shape") and hasattr(x, "dtype")


def _plain(array):
    """An array whose dtype an .npy file can say: narrow floats as the unsigned integers with their bits."""
    if array.dtype.kind in "biufc" and array.dtype.isbuiltin == 1:
        return array
    return array.view({1: np.uint8, 2: np.uint16, 4: np.uint32, 8: np.uint64}[array.dtype.itemsize])


def _address(tensor):
    """Where a tensor of the host begins; None where it cannot be known."""
    try:
        return np.from_dlpack(tensor).ctypes.data
    except Exception:  # another device, or a dtype that numpy lacks
        return None


class Recorder:
    """The instrument of a virtual machine: writes each call to a folder.

    skip(symbol): True leaves the call out of the run, as TVM's instrument can; the row then has no result.
    only(symbol): True keeps the call's row; without it all are kept.
    """

    def __init__(self, folder, most_bytes=MOST_BYTES, only=None, skip=None):
        self.folder = Path(folder)
        self.folder.mkdir(parents=True, exist_ok=True)
        self.index = open(self.folder / INDEX, "w", encoding="utf-8")
        self.archive = zipfile.ZipFile(self.folder / TENSORS, "w", zipfile.ZIP_STORED, allowZip64=True)
        self.names = {}
        self.bytes_left = most_bytes
        self.only = only
        self.skip = skip
        self.open_calls = []
        self.calls = 0

    def __call__(self, func, symbol, before, ret, *args):
        symbol = str(symbol)
        if before:
            return self._begin(symbol, args)
        # A call above it in the list has not come back: it raised an error.
        while self.open_calls and self.open_calls[-1]["func"] != symbol:
            self._write(self.open_calls.pop())
        if self.open_calls:
            self._end(self.open_calls.pop(), ret, args)
        return None

    def close(self):
        while self.open_calls:
            self._write(self.open_calls.pop())
        self.index.close()
        self.archive.close()

    def _begin(self, symbol, args):
        row = {"call": self.calls, "depth": len(self.open_calls), "func": symbol, "args": []}
        self.calls += 1
        starts = {}
        for i, arg in enumerate(args):
            value = self._value(arg)
            if isinstance(value, dict) and "tensor" in value:
                start = (_address(arg), tuple(value["tensor"]), value["dtype"])
                if start[0] is not None and start in starts:
                    value["same_as"] = starts[start]
                starts.setdefault(start, i)
            row["args"].append(value)
        self._number_aliases(row["args"])
        if self.skip is not None and self.skip(symbol):
            self._write(row)
            return True
        self.open_calls.append(row)
        return None

    @staticmethod
    def _number_aliases(args):
        """Counts from the first argument after the machine's own pointer."""
        if args and args[0] == {"object": "c_void_p"}:
            for arg in args:
                if isinstance(arg, dict) and "same_as" in arg:
                    arg["same_as"] -= 1

    def _end(self, row, ret, args):
        row["ret"] = self._value(ret)
        row["after"] = {}
        for i, arg in enumerate(args):
            if i < len(row["args"]) and _is_tensor(arg):
                value = self._value(arg)
                if value.get("npz") != row["args"][i].get("npz"):
                    row["after"][str(i)] = value
        self._write(row)

    def _write(self, row):
        if self.only is None or self.only(row["func"]):
            json.dump(row, self.index)
            self.index.write("\n")

    def _value(self, x):
        if x is None or isinstance(x, (bool, str)):
            return x
        if isinstance(x, (int, np.integer)):
            return int(x)
        if isinstance(x, (float, np.floating)):
            x = float(x)
            if math.isfinite(x):
                return x
            return {"float": "nan" if math.isnan(x) else "inf" if x > 0 else "-inf"}
        if _is_tensor(x):
            return self._tensor(x)
        kind = type(x).__name__
        if kind in ("Shape", "ShapeTuple"):
            return {"shape": [int(d) for d in x]}
        if isinstance(x, (list, tuple)) or kind == "Array":
            return {"tuple": [self._value(field) for field in x]}
        if kind in ("dtype", "DataType"):
            return str(x)
        return {"object": kind}

    def _tensor(self, x):
        # The memory is reused by later calls: the bytes are written now.
        array = _plain(np.ascontiguousarray(x.numpy()))
        shape = [int(d) for d in x.shape]
        array = array.reshape(shape)
        value = {"tensor": shape, "dtype": str(x.dtype)}
        key = (hashlib.sha1(array.tobytes()).digest(), str(x.dtype), tuple(shape))
        if key not in self.names:
            if array.nbytes > self.bytes_left:
                return value
            self.bytes_left -= array.nbytes
            self.names[key] = "t%d" % len(self.names)
            with self.archive.open(self.names[key] + ".npy", "w", force_zip64=True) as member:
                np.lib.format.write_array(member, array, allow_pickle=False)
        value["npz"] = self.names[key]
        return value


class record:
    """Records the calls that a virtual machine makes inside of a `with` block. Needs the bytecode mode of `compile`."""

    def __init__(self, vm, folder, **options):
        self.vm = vm
        self.recorder = Recorder(folder, **options)

    def __enter__(self):
        self.vm.set_instrument(lambda *call: self.recorder(*call))
        return self.recorder

    def __exit__(self, *error):
        self.vm.set_instrument(None)
        self.recorder.close()
        return False


def _text(mod):
    try:
        return mod.script(show_meta=True)
    except TypeError:
        return mod.script()


def dump_ir(folder):
    """A pass instrument that writes the module before the first pass and after each one: NNN_PassName.py."""
    import tvm

    path = Path(folder)
    path.mkdir(parents=True, exist_ok=True)

    @tvm.instrument.pass_instrument
    class DumpIRForRldb:
        def __init__(self):
            self.stages = 0

        def run_before_pass(self, mod, info):
            if self.stages == 0:
                self.write(mod, "Input")

        def run_after_pass(self, mod, info):
            self.write(mod, str(info.name))

        def write(self, mod, name):
            name = "".join(c if c.isalnum() or c in "._-" else "_" for c in name)
            (path / ("%03d_%s.py" % (self.stages, name))).write_text(_text(mod) + "\n", encoding="utf-8")
            self.stages += 1

    return DumpIRForRldb()


def open_rldb(*arguments):
    """Runs rldb with these arguments in this terminal; its exit code."""
    return subprocess.run([os.environ.get("RLDB", "rldb"), *map(str, arguments)], check=False).returncode


def debug(mod, folder="."):
    """The prompt of rldb on a module."""
    path = Path(folder) / MODULE
    path.write_text(_text(mod) + "\n", encoding="utf-8")
    return open_rldb(path)


def compare(mod, folder, *arguments):
    """rldb's verdict on a recorded run: 0 it agrees, 1 a call is wrong, 125 it cannot tell."""
    path = Path(folder) / MODULE
    path.write_text(_text(mod) + "\n", encoding="utf-8")
    return open_rldb("compare", path, "--recorded", folder, *arguments)


def _generated(params, seed):
    """Numbers for tensors; symbolic dims are 7, 8, ..., so that one taken for another shows."""
    random = np.random.default_rng(seed)
    dims = {}
    out = []

    def number(dim):
        try:
            return int(dim)
        except TypeError:
            return dims.setdefault(str(dim), 7 + len(dims))

    for p in params:
        info = getattr(p, "ty", None) or p.struct_info
        shape = [number(d) for d in getattr(info.shape, "values", info.shape)]
        dtype = np.dtype(str(info.dtype))
        floats = random.standard_normal(shape) if dtype.kind == "f" else random.integers(0, 2, shape)
        out.append(floats.astype(dtype))
    return out


def _pipeline(name):
    """A pipeline: one that TVM registers by name, or passes without arguments, by their names: A,B,C."""
    import tvm
    from tvm import relax

    try:
        return relax.get_pipeline(name)
    except ValueError:
        passes = [getattr(relax.transform, one, None) for one in name.split(",")]
        if not all(passes):
            raise
        return tvm.transform.Sequential([make() for make in passes])


def _leaves(value, out):
    if _is_tensor(value):
        # `ascontiguousarray` gives a scalar a dim.
        out.append(_plain(np.ascontiguousarray(value.numpy())).reshape([int(d) for d in value.shape]))
    elif type(value).__name__ in ("Shape", "ShapeTuple"):
        out.append(np.array([int(d) for d in value], "int64"))
    elif isinstance(value, (list, tuple)) or type(value).__name__ == "Array":
        for field in value:
            _leaves(field, out)
    else:
        out.append(np.array(value))
    return out


def _argument(value, archive, device):
    """An argument as the question has it: the forms of a recorded run."""
    import tvm

    if isinstance(value, list):
        return [_argument(field, archive, device) for field in value]
    if not isinstance(value, dict):
        return value
    if "float" in value:
        return float(value["float"])
    if "tensor" in value:
        array = archive[value["npz"]]
        if str(array.dtype) != value["dtype"]:
            import ml_dtypes

            array = array.view(getattr(ml_dtypes, value["dtype"]))
        return tvm.runtime.tensor(array, device=device)
    if "shape" in value:
        return tvm.runtime.ShapeTuple(value["shape"])
    if "tuple" in value:
        return _argument(value["tuple"], archive, device)
    raise ValueError("an argument without a value: %s" % json.dumps(value))


class _StoppedIn:
    """The pass that is running, for the answer when it fails."""

    def __init__(self):
        self.name = ""

    def instrument(self):
        import tvm

        watch = self

        @tvm.instrument.pass_instrument
        class PassForRldb:
            def run_before_pass(self, mod, info):
                watch.name = str(info.name)

            def run_after_pass(self, mod, info):
                watch.name = ""

        return PassForRldb()


def _line_of(error):
    lines = [line for line in str(error).splitlines() if line.strip()] or [""]
    return "%s: %s" % (type(error).__name__, lines[-1].strip())


def _answer(question, pipeline, target):
    import tvm
    from tvm import relax

    mod = tvm.script.from_source(Path(question["module"]).read_text(encoding="utf-8"))
    name = question.get("passes", pipeline)
    arguments = None
    device = tvm.device(target.split()[0] if not target.startswith("llvm") else "cpu")
    if "arguments" in question:
        try:
            archive = np.load(question["inputs"])
            arguments = [_argument(a, archive, device) for a in question["arguments"]]
        except Exception as error:  # TVM has not been asked
            return {"refused": "its arguments cannot be read: " + _line_of(error)}
    running = _StoppedIn()
    instruments = [running.instrument()]
    if "ir" in question:
        instruments.append(dump_ir(question["ir"]))
    try:
        with tvm.transform.PassContext(instruments=instruments):
            if name:
                mod = _pipeline(name)(mod)
            ex = tvm.compile(mod, target=target)
        if arguments is None:
            return {"fault": False}
        running.name = ""
        result = relax.VirtualMachine(ex, device)[question["function"]](*arguments)
    except Exception as error:  # whatever TVM raises is the answer
        answer = {"failed": _line_of(error)}
        if running.name:
            answer["pass"] = running.name
        return answer
    try:
        np.savez(question["outputs"], **{str(i): leaf for i, leaf in enumerate(_leaves(result, []))})
    except Exception as error:
        return {"refused": "its result cannot be written: " + _line_of(error)}
    return {"outputs": question["outputs"]}


def serve(pipeline="", target="llvm"):
    """A partner of rldb: questions on standard input, answers on standard output, one line of JSON each."""
    import tvm

    # TVM and its passes may print: the answers get a descriptor of their own, and standard output becomes the errors'.
    answers = os.fdopen(os.dup(1), "w", encoding="utf-8")
    os.dup2(2, 1)

    def say(line):
        answers.write(json.dumps(line) + "\n")
        answers.flush()

    say({"partner": "tvm " + str(tvm.__version__)})
    for line in sys.stdin:
        question = json.loads(line)
        say({"id": question["id"], **_answer(question, pipeline, target)})
    return 0


def main(arguments=None):
    parser = argparse.ArgumentParser(description="Compile and run a module with TVM, and record it for rldb.")
    parser.add_argument("module", nargs="?", help="TVMScript")
    parser.add_argument("-o", "--output", help="folder: ir/ has the stages, run/ the calls")
    parser.add_argument("--serve", action="store_true", help="answer the questions of rldb fuzz --against")
    parser.add_argument("--pipeline", default="", help="with --serve: a pipeline by name, or passes A,B,C, before the build")
    parser.add_argument("--target", default="llvm")
    parser.add_argument("--function", default="main")
    parser.add_argument("--inputs", help="an .npz with the parameters by name; without it they are generated")
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--compare", action="store_true", help="run rldb on the record")
    line = parser.parse_args(arguments)
    if line.serve:
        return serve(line.pipeline, line.target)
    if not line.module or not line.output:
        parser.error("a module and -o are needed, or --serve")

    import tvm
    from tvm import relax

    mod = tvm.script.from_source(Path(line.module).read_text(encoding="utf-8"))
    output = Path(line.output)
    params = list(mod[line.function].params)
    if line.inputs:
        given = np.load(line.inputs)
        arrays = [given[getattr(p, "name_hint", str(p))] for p in params]
    else:
        arrays = _generated(params, line.seed)
    with tvm.transform.PassContext(instruments=[dump_ir(output / "ir")]):
        ex = tvm.compile(mod, target=line.target)
    device = tvm.device(line.target.split()[0] if not line.target.startswith("llvm") else "cpu")
    vm = relax.VirtualMachine(ex, device)
    with record(vm, output / "run"):
        vm[line.function](*[tvm.runtime.tensor(a, device=device) for a in arrays])
    return compare(mod, output / "run") if line.compare else 0


if __name__ == "__main__":
    sys.exit(main())
