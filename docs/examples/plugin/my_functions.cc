// Packed functions in C++: exceptions become errors, results are values. With TVM's headers the macro
// TVM_FFI_DLL_EXPORT_TYPED_FUNC(my_norm, my_norm) does what `EXPORT` does here.
//
//   c++ -shared -fPIC -std=c++17 -I include docs/examples/plugin/my_functions.cc -o my_functions.so
#include <cmath>
#include <stdexcept>
#include <string>
#include <vector>

#include "rldb/runtime/ffi_abi.h"

namespace {

// The float32 tensor in an argument, in either form.
const DLTensor& tensor(const TVMFFIAny& arg) {
  const DLTensor* t = nullptr;
  if (arg.type_index == kTVMFFIDLTensorPtr) t = static_cast<const DLTensor*>(arg.v_ptr);
  if (arg.type_index == kTVMFFITensor) t = static_cast<const DLTensor*>(TVMFFICellOf(arg.v_obj));
  if (!t || t->dtype.code != 2 || t->dtype.bits != 32) throw std::invalid_argument("a float32 tensor is needed");
  return *t;
}

std::vector<float> elements(const DLTensor& t) {
  std::int64_t n = 1;
  for (int i = 0; i < t.ndim; ++i) n *= t.shape[i];
  const auto* data = reinterpret_cast<const float*>(static_cast<const char*>(t.data) + t.byte_offset);
  return {data, data + n};
}

TVMFFIAny text(const std::string& s) {
  const TVMFFIByteArray bytes{s.data(), s.size()};
  TVMFFIAny any{};
  if (TVMFFIStringFromByteArray(&bytes, &any) != 0) throw std::bad_alloc();
  return any;
}

using Args = const TVMFFIAny*;

TVMFFIAny norm(Args args, int count) {
  if (count != 1) throw std::invalid_argument("one tensor is needed");
  double sum = 0;
  for (const float x : elements(tensor(args[0]))) sum += double(x) * x;
  TVMFFIAny any{};
  any.type_index = kTVMFFIFloat;
  any.v_float64 = std::sqrt(sum);
  return any;
}

TVMFFIAny describe(Args args, int count) {
  std::string s = std::to_string(count) + " arguments";
  for (int i = 0; i < count; ++i) s += ", " + std::to_string(args[i].type_index);
  return text(s);
}

template <class F>
int call(F f, Args args, int count, TVMFFIAny* result) {
  try {
    *result = f(args, count);
    return 0;
  } catch (const std::exception& e) {
    TVMFFIErrorSetRaisedFromCStr("ValueError", e.what());
    return -1;
  }
}

}  // namespace

#define EXPORT(name, function)                                                                      \
  extern "C" int __tvm_ffi_##name(void*, const TVMFFIAny* args, int32_t count, TVMFFIAny* result) { \
    return call(function, args, count, result);                                                     \
  }

EXPORT(my_norm, norm)
EXPORT(my_describe, describe)
