"""A package with the names of TVM that rldb's scripts use. It compiles nothing: it notes what is asked of it (`log`),
runs instruments, and leaves the values of functions to `program`, a function of the test, or to rldb."""

import inspect
import json
import os
import re
import subprocess
import sys
import tempfile
import types
from pathlib import Path

import numpy as np

log = []
program = None  # program(vm, function, arguments): the calls of a run


def note(*entry):
    log.append(list(entry))
    if "FAKE_TVM_LOG" in os.environ:
        with open(os.environ["FAKE_TVM_LOG"], "a", encoding="utf-8") as file:
            file.write(json.dumps(entry, default=str) + "\n")


class Anything:
    """Every name of TVMScript: it can be called, subscripted and used as a decorator."""

    def __init__(self, name="anything"):
        self._name = name

    def __getattr__(self, name):
        if name.startswith("__"):
            raise AttributeError(name)
        return Anything(self._name + "." + name)

    def __call__(self, *args, **kwargs):
        if len(args) == 1 and not kwargs and isinstance(args[0], types.FunctionType):
            return args[0]
        return Anything(self._name + "()")

    def __getitem__(self, key):
        return Anything(self._name + "[]")


class IRModule:
    def __init__(self, text, names=(), passes=()):
        self.text, self.names, self.passes = text, list(names), list(passes)

    def script(self, show_meta=False):
        return self.text

    def __getitem__(self, name):
        return Function(self, name)


class Function:
    def __init__(self, mod, name):
        self.mod, self.name, self.params = mod, name, mod.names

    def with_attr(self, key, value):
        note("with_attr", key, value)
        return self


def _ir_module(cls=None, **options):
    def make(c):
        lines = Path(inspect.getsourcefile(c)).read_text(encoding="utf-8").splitlines()
        variables = [line for line in lines if re.match(r"\w+ = TypeVar\(", line)]
        text = "\n".join(variables) + "\n" + inspect.getsource(c)
        note("ir_module", options)
        return IRModule(text)

    return make(cls) if cls is not None else make


class Tensor:
    def __init__(self, array):
        self.array = array
        self.shape = tuple(array.shape)
        self.dtype = str(array.dtype)

    def numpy(self):
        return self.array.copy()

    def __dlpack__(self, **options):
        return self.array.__dlpack__()

    def __dlpack_device__(self):
        return self.array.__dlpack_device__()


class Shape(tuple):
    pass


class c_void_p:
    pass


class Storage:
    pass


class VirtualMachine:
    def __init__(self, ex, device, **options):
        self.mod = ex.mod
        self.instrument = None

    def set_instrument(self, instrument):
        self.instrument = instrument

    def __getitem__(self, function):
        def run(*args):
            note("run", function, self.mod.passes, [np.asarray(a.array).shape for a in args])
            if program is not None:
                return program(self, function, args)
            return self._by_rldb(function, args)

        return run

    def call(self, name, do, *args):
        """One instruction, as the machine shows it to its instrument."""
        if self.instrument is not None and self.instrument(None, name, True, None, *args):
            return None
        ret = do(*args)
        if self.instrument is not None:
            self.instrument(None, name, False, ret, *args)
        return ret

    def _by_rldb(self, function, args):
        with tempfile.TemporaryDirectory() as folder:
            folder = Path(folder)
            (folder / "m.py").write_text(self.mod.text, encoding="utf-8")
            line = [os.environ["RLDB"], "run", str(folder / "m.py"), "--function", function, "-o", str(folder / "out.npz")]
            for i, a in enumerate(args):
                np.save(folder / ("%d.npy" % i), a.array)
                line += ["--input", "@" + str(folder / ("%d.npy" % i))]
            subprocess.run(line, check=True, stdout=subprocess.DEVNULL)
            out = np.load(folder / "out.npz")
            off = float(os.environ.get("FAKE_TVM_OFF", "0")) if self.mod.passes else 0
            leaves = [Tensor(out[name] + np.asarray(off, out[name].dtype)) for name in out.files]
            return leaves[0] if len(leaves) == 1 else leaves


class Pass:
    def __init__(self, name, args=(), options=None):
        self.name, self.args, self.options = name, args, options or {}

    def __call__(self, mod):
        context = transform.PassContext.current
        note("pass", self.name, list(self.args), self.options)
        if os.environ.get("FAKE_TVM_FAILS") == self.name:
            raise ValueError("the pass does not take this module")
        info = types.SimpleNamespace(name=self.name)
        for instrument in context.instruments if context else ():
            instrument.run_before_pass(mod, info)
        made = IRModule(mod.text, mod.names, mod.passes + [self.name])
        for instrument in context.instruments if context else ():
            instrument.run_after_pass(made, info)
        return made


class _Passes:
    def __getattr__(self, name):
        if name.startswith("__"):
            raise AttributeError(name)
        return lambda *args, **options: Pass(name, args, options)


class PassContext:
    current = None

    def __init__(self, instruments=(), **options):
        self.instruments = list(instruments)

    def __enter__(self):
        PassContext.current = self
        return self

    def __exit__(self, *error):
        PassContext.current = None


class Sequential:
    def __init__(self, passes, **options):
        self.passes = passes

    def __call__(self, mod):
        for p in self.passes:
            mod = p(mod)
        return mod


def pass_instrument(cls):
    return cls


def compile(mod, target=None, **options):
    if isinstance(mod, Function):  # a kernel alone: it writes nothing
        return lambda *args: note("kernel", mod.name, [getattr(a, "shape", a) for a in args])
    note("compile", str(target), mod.passes)
    for name in ("LegalizeOps", "ToNonDataflow"):
        if PassContext.current is not None:
            mod = Pass(name)(mod)
    return types.SimpleNamespace(mod=mod)


def device(name, index=0):
    return "%s:%d" % (name, index)


class target_module:
    Target = staticmethod(lambda text: "Target(%s)" % text)


target = target_module


def cpu(index=0):
    return device("cpu", index)


def _tensor(array, device=None):
    return Tensor(np.array(array))


def _module(name, **names):
    made = types.ModuleType("tvm." + name)
    made.__path__ = []
    made.__dict__.update(names)
    sys.modules["tvm." + name] = made
    if "." not in name:
        setattr(sys.modules["tvm"], name, made)
    return made


__version__ = "0.0.fake"
_module("script", ir=Anything("I"), relax=Anything("R"), tirx=Anything("T"), tir=Anything("T"), from_source=lambda text: IRModule(text))
script.ir.ir_module = _ir_module
_module("runtime", tensor=_tensor, ShapeTuple=Shape)
_module("ir", load_json=lambda text: json.loads(text))
_module("instrument", pass_instrument=pass_instrument)
_module("transform", PassContext=PassContext, Sequential=Sequential)
for _name in ("relax", "tirx", "s_tir"):
    _module(_name, transform=_Passes(), VirtualMachine=VirtualMachine)


def _get_pipeline(name):
    raise ValueError("Unknown pre-built pipeline " + name)


relax.get_pipeline = _get_pipeline
_module("tirx.layout", Axis=Anything("Axis"))
