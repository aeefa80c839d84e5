"""The kernels of a library, called with tensors that they write to."""
import ctypes
import sys


class DLTensor(ctypes.Structure):
    _fields_ = [
        ("data", ctypes.c_void_p),
        ("device_type", ctypes.c_int32),
        ("device_id", ctypes.c_int32),
        ("ndim", ctypes.c_int32),
        ("code", ctypes.c_uint8),
        ("bits", ctypes.c_uint8),
        ("lanes", ctypes.c_uint16),
        ("shape", ctypes.POINTER(ctypes.c_int64)),
        ("strides", ctypes.POINTER(ctypes.c_int64)),
        ("byte_offset", ctypes.c_uint64),
    ]


class Any(ctypes.Structure):
    _fields_ = [("type", ctypes.c_int32), ("padding", ctypes.c_int32), ("value", ctypes.c_int64)]


def tensor(numbers):
    data = (ctypes.c_float * len(numbers))(*numbers)
    shape = (ctypes.c_int64 * 1)(len(numbers))
    made = DLTensor(ctypes.cast(data, ctypes.c_void_p), 1, 0, 1, 2, 32, 1, shape, None, 0)
    return made, data, shape


library = ctypes.CDLL(sys.argv[1])
assert not hasattr(library, "__tvm_ffi_hidden")
a, a_data, a_shape = tensor([1, 2, 3])
b, b_data, b_shape = tensor([0, 0, 0])
args = (Any * 3)(Any(7, 0, ctypes.addressof(a)), Any(7, 0, ctypes.addressof(b)), Any(1, 0, 4))
result = Any()
code = getattr(library, "__tvm_ffi_shifted")(None, args, 3, ctypes.byref(result))
print(code, list(b_data))
