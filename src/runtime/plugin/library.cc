// The C ABI of plugins: values to TVMFFIAny and back, and the called library.
#include "runtime/plugin/library.h"

#include <dlfcn.h>
#include <fmt/format.h>

#include <exception>
#include <memory>
#include <optional>

#include "rldb/runtime/ffi_abi.h"

namespace rldb::runtime {

namespace {

// As in TVM's runtime: the error of a failed call waits in thread-local state.
thread_local std::optional<std::string> t_raised;

void set_raised(const char* kind, std::string message) {
  t_raised = kind && *kind ? fmt::format("{}: {}", kind, message) : std::move(message);
}

static_assert(sizeof(TVMFFIAny) == 16 && sizeof(DLTensor) == 48, "the C ABI of tvm-ffi");

// The arguments of one call in the form of the ABI. Tensors, shapes and strings are lent.
class CallFrame {
 public:
  explicit CallFrame(PackedArgs args) : args_(args), any_(args.size()), tensors_(args.size()) {
    strides_.resize(args.size());
  }

  Result<support::Unit> pack(std::string_view name) {
    for (std::size_t i = 0; i < args_.size(); ++i) {
      if (!pack_one(i)) return cannot_pass(name, i, args_[i]);
    }
    return support::Unit{};
  }

  const TVMFFIAny* data() const { return any_.data(); }

 private:
  bool pack_one(std::size_t i) {
    const Value& v = args_[i];
    TVMFFIAny& to = any_[i];
    to = {};
    switch (v.kind()) {
      case ValueKind::Null:
        return true;
      case ValueKind::Int:
        to.type_index = kTVMFFIInt;
        to.v_int64 = v.as_int();
        return true;
      case ValueKind::Bool:
        to.type_index = kTVMFFIBool;
        to.v_int64 = v.as_int();
        return true;
      case ValueKind::Float:
        to.type_index = kTVMFFIFloat;
        to.v_float64 = v.as_float();
        return true;
      case ValueKind::DType:
        to.type_index = kTVMFFIDataType;
        to.v_dtype = data_type(v.as_dtype());
        return true;
      case ValueKind::String:
        to.type_index = kTVMFFIRawStr;
        to.v_c_str = v.as_string().c_str();
        return true;
      case ValueKind::Tensor:
        to.type_index = kTVMFFIDLTensorPtr;
        to.v_ptr = lend_tensor(i, v.as_tensor());
        return true;
      case ValueKind::Shape:
      case ValueKind::Tuple:
      case ValueKind::Function:
      case ValueKind::Storage:
      case ValueKind::Object:
        return false;
    }
    return false;
  }

  static DLDataType data_type(DType t) {
    return {static_cast<std::uint8_t>(t.code), t.bits, static_cast<std::uint16_t>(t.lanes)};
  }

  DLTensor* lend_tensor(std::size_t i, Tensor& tensor) {
    auto& strides = strides_[i];
    strides.assign(tensor.shape().size(), 1);
    for (std::size_t d = strides.size(); d-- > 1;) {
      // An empty tensor may have dims whose product does not fit; no element has that address.
      if (__builtin_mul_overflow(strides[d], tensor.shape()[d], &strides[d - 1])) strides[d - 1] = 0;
    }
    DLTensor& to = tensors_[i];
    to.data = tensor.data();
    to.device = {1, 0};
    to.ndim = tensor.ndim();
    to.dtype = data_type(tensor.dtype());
    // The ABI's struct is not const; a plugin must not write to it.
    to.shape = const_cast<std::int64_t*>(tensor.shape().data());
    to.strides = strides.data();
    to.byte_offset = 0;
    return &to;
  }

  PackedArgs args_;
  std::vector<TVMFFIAny> any_;
  std::vector<DLTensor> tensors_;
  std::vector<std::vector<std::int64_t>> strides_;
};

Result<Value> unpack(const TVMFFIAny& result, const std::string& name) {
  switch (result.type_index) {
    case kTVMFFINone:
      return Value::null();
    case kTVMFFIInt:
      return Value::of_int(result.v_int64);
    case kTVMFFIBool:
      return Value::of_bool(result.v_int64 != 0);
    case kTVMFFIFloat:
      return Value::of_float(result.v_float64);
    case kTVMFFIDataType:
      return Value::of_dtype(
          {TypeCode(result.v_dtype.code), result.v_dtype.bits, static_cast<std::int16_t>(result.v_dtype.lanes)});
    default:
      return fail(ErrorKind::Unsupported,
                  fmt::format("`{}` returned a value of type index {}; a plugin may return None, "
                              "Int, Bool, Float or DataType",
                              name, result.type_index));
  }
}

Result<Value> call_plugin(TVMFFISafeCallType function, const std::string& name, PackedArgs args) {
  CallFrame frame(args);
  RLDB_TRY_VOID(frame.pack(name));
  TVMFFIAny result{};
  t_raised.reset();
  int status = 0;
  try {
    status = function(nullptr, frame.data(), static_cast<std::int32_t>(args.size()), &result);
  } catch (const std::exception& e) {
    // The ABI forbids it, but a plugin in C++ that forgets must not take the session down.
    return fail(ErrorKind::Raised, fmt::format("`{}` threw an exception: {}", name, e.what()));
  } catch (...) {
    return fail(ErrorKind::Raised, fmt::format("`{}` threw an exception", name));
  }
  if (status == 0) return unpack(result, name);
  const std::string message = t_raised ? *t_raised : fmt::format("status {} and no message", status);
  t_raised.reset();
  return fail(ErrorKind::Raised, fmt::format("`{}`: {}", name, message));
}

}  // namespace

Result<std::shared_ptr<PluginLibrary>> PluginLibrary::open(const std::string& path,
                                                           const std::vector<std::string>& names) {
  // Without a slash dlopen would search the system's folders for another file of that name.
  const std::string file = path.find('/') == std::string::npos ? "./" + path : path;
  void* opened = dlopen(file.c_str(), RTLD_NOW | RTLD_LOCAL);
  if (!opened) {
    const char* why = dlerror();
    return fail(ErrorKind::BadFile, fmt::format("cannot load `{}`: {}", path, why ? why : "unknown reason"));
  }
  std::shared_ptr<PluginLibrary> library(new PluginLibrary(opened));
  for (const std::string& name : names) {
    void* symbol = dlsym(opened, ("__tvm_ffi_" + name).c_str());
    if (!symbol) {
      return fail(ErrorKind::BadFile, fmt::format("`{}`: `__tvm_ffi_{}` cannot be found", path, name));
    }
    library->functions_.push_back({name, reinterpret_cast<TVMFFISafeCallType>(symbol)});
  }
  return library;
}

PluginLibrary::~PluginLibrary() { dlclose(handle_); }

Result<Value> PluginLibrary::call(std::size_t index, PackedArgs args) const {
  return call_plugin(functions_[index].code, functions_[index].name, args);
}

support::Failure<Error> cannot_pass(std::string_view name, std::size_t argument, const Value& value) {
  return fail(ErrorKind::Unsupported, fmt::format("`{}`: argument {}: a {} cannot be passed to a plugin", name,
                                                  argument, to_string(value.kind())));
}

}  // namespace rldb::runtime

extern "C" {

__attribute__((visibility("default"))) void TVMFFIErrorSetRaisedFromCStr(const char* kind, const char* message) {
  rldb::runtime::set_raised(kind, message ? message : "");
}

__attribute__((visibility("default"))) void TVMFFIErrorSetRaisedFromCStrParts(const char* kind, const char** parts,
                                                                              std::int32_t count) {
  std::string message;
  for (std::int32_t i = 0; i < count; ++i) {
    if (parts[i]) message += parts[i];
  }
  rldb::runtime::set_raised(kind, std::move(message));
}
}
