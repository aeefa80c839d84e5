"""Calls a library through ctypes, with nothing else."""

import ctypes
import sys

from records import Any, DLTensor, tensor


def call(library, name, *tensors):
    args = (Any * max(1, len(tensors)))()
    for i, t in enumerate(tensors):
        args[i] = Any(7, 0, ctypes.addressof(t))
    result = Any()
    f = getattr(library, "__tvm_ffi_" + name)
    if f(None, args, len(tensors), ctypes.byref(result)) != 0:
        raise RuntimeError(library.model_error_message().decode())
    return result


library = ctypes.CDLL(sys.argv[1])
library.model_error_message.restype = ctypes.c_char_p
result = call(library, "main", tensor([1, 2, 3, 4], [1, 4]), tensor([1, -9, 1, -9, 1, -9, 1, -9], [4, 2]))
assert result.type_index == 70
made = DLTensor.from_address(result.payload + 24)
assert list(made.shape[: made.ndim]) == [1, 2]
assert list((ctypes.c_float * 2).from_address(made.data)) == [11.0, 0.0]
library.model_release(ctypes.byref(result))
assert result.type_index == 0
try:
    call(library, "main", tensor([1], [1, 1]), tensor([1], [1, 1]))
    raise SystemExit("no error")
except RuntimeError as e:
    assert "in `main`" in str(e), str(e)
print("all good")
