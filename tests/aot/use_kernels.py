"""The kernels of a library, called with tensors that they write to."""

import ctypes
import sys

from records import Any, tensor

library = ctypes.CDLL(sys.argv[1])
assert not hasattr(library, "__tvm_ffi_hidden")
a, b = tensor([1, 2, 3], [3]), tensor([0, 0, 0], [3])
args = (Any * 3)(Any(7, 0, ctypes.addressof(a)), Any(7, 0, ctypes.addressof(b)), Any(1, 0, 4))
result = Any()
code = getattr(library, "__tvm_ffi_shifted")(None, args, 3, ctypes.byref(result))
print(code, list(b.keep[0]))
