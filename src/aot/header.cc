// The C header of a library: declarations, values, and a typed function for each exported one.
#include "aot/header.h"

#include <fmt/format.h>

#include <algorithm>
#include <cctype>
#include <set>

#include "rldb/ir/printer.h"
#include "rldb/runtime/error.h"

namespace rldb::aot {

namespace {

// tvm-ffi's and DLPack's own declarations are used where they are included before.
constexpr std::string_view kDeclarations = R"__(
#include <stdint.h>
#include <string.h>

#ifdef __cplusplus
extern "C" {
#endif

#ifndef DLPACK_DLPACK_H_
#define DLPACK_DLPACK_H_
typedef struct {
  uint8_t code; /* 0 int, 1 uint, 2 float, 4 bfloat, 6 bool */
  uint8_t bits;
  uint16_t lanes; /* 1 */
} DLDataType;
typedef struct {
  int32_t device_type; /* 1: the CPU */
  int32_t device_id;
} DLDevice;
typedef struct {
  void* data;
  DLDevice device;
  int32_t ndim;
  DLDataType dtype;
  int64_t* shape;
  int64_t* strides; /* in elements; null: row-major. Only row-major tensors are taken. */
  uint64_t byte_offset;
} DLTensor;
#endif

#if !defined(TVM_FFI_C_API_H_) && !defined(RLDB_RUNTIME_FFI_ABI_H_)
#define TVM_FFI_C_API_H_
/* What a TVMFFIAny holds; from 64 on it owns an object. */
enum {
  kTVMFFINone = 0,
  kTVMFFIInt = 1,
  kTVMFFIBool = 2,
  kTVMFFIFloat = 3,
  kTVMFFIDLTensorPtr = 7,
  kTVMFFIRawStr = 8,
  kTVMFFIStr = 65,
  kTVMFFIFunction = 68,
  kTVMFFIShape = 69,
  kTVMFFITensor = 70,
  kTVMFFIArray = 71
};
typedef struct {
  uint64_t combined_ref_count;
  int32_t type_index;
  uint32_t padding;
  void (*deleter)(void* self, int flags);
} TVMFFIObject;
typedef struct {
  int32_t type_index;
  uint32_t zero_padding;
  union {
    int64_t v_int64;
    double v_float64;
    void* v_ptr;
    const char* v_c_str;
    TVMFFIObject* v_obj;
  };
} TVMFFIAny;
typedef int (*TVMFFISafeCallType)(void* self, const TVMFFIAny* args, int32_t count, TVMFFIAny* result);
#endif

#ifndef RLDB_AOT_VALUES
#define RLDB_AOT_VALUES
/* The error codes of a library; 0 is success. */
enum {
)__";

constexpr std::string_view kValues = R"__(};
/* A tensor as an argument: its memory is lent for the call. */
static inline TVMFFIAny rldb_aot_of_tensor(DLTensor* t) {
  TVMFFIAny v;
  memset(&v, 0, sizeof v);
  v.type_index = kTVMFFIDLTensorPtr;
  v.v_ptr = t;
  return v;
}
static inline TVMFFIAny rldb_aot_of_int(int64_t n) {
  TVMFFIAny v;
  memset(&v, 0, sizeof v);
  v.type_index = kTVMFFIInt;
  v.v_int64 = n;
  return v;
}
static inline TVMFFIAny rldb_aot_of_float(double x) {
  TVMFFIAny v;
  memset(&v, 0, sizeof v);
  v.type_index = kTVMFFIFloat;
  v.v_float64 = x;
  return v;
}
/* The tensor that a result holds, null if it holds another value. It lives as long as the result is not released. */
static inline DLTensor* rldb_aot_tensor_in(const TVMFFIAny* v) {
  return v->type_index == kTVMFFITensor ? (DLTensor*)(v->v_obj + 1) : (DLTensor*)0;
}
/* The number of fields of a tuple, -1 if it is none, and one of them. */
static inline int64_t rldb_aot_field_count(const TVMFFIAny* v) {
  return v->type_index == kTVMFFIArray ? *((const int64_t*)(v->v_obj + 1) + 1) : -1;
}
static inline const TVMFFIAny* rldb_aot_field(const TVMFFIAny* v, int64_t i) {
  return *(const TVMFFIAny* const*)(v->v_obj + 1) + i;
}
#endif
)__";

// Words of C and C++, macros that compilers define, and the names in a generated function.
constexpr std::string_view kWords[] = {
    "alignas",      "alignof",     "and",        "and_eq",    "asm",       "auto",
    "bitand",       "bitor",       "bool",       "break",     "case",      "catch",
    "char",         "class",       "co_await",   "co_return", "co_yield",  "compl",
    "concept",      "const",       "const_cast", "consteval", "constexpr", "constinit",
    "continue",     "decltype",    "default",    "delete",    "do",        "double",
    "dynamic_cast", "else",        "enum",       "explicit",  "export",    "extern",
    "false",        "float",       "for",        "friend",    "goto",      "if",
    "inline",       "int",         "long",       "mutable",   "namespace", "new",
    "noexcept",     "not",         "not_eq",     "nullptr",   "operator",  "or",
    "or_eq",        "private",     "protected",  "public",    "register",  "reinterpret_cast",
    "requires",     "restrict",    "return",     "short",     "signed",    "sizeof",
    "static",       "static_cast", "struct",     "switch",    "template",  "this",
    "thread_local", "throw",       "true",       "try",       "typedef",   "typeid",
    "typename",     "typeof",      "union",      "unsigned",  "using",     "virtual",
    "void",         "volatile",    "wchar_t",    "while",     "xor",       "xor_eq",
    "NULL",         "linux",       "unix",       "args",      "result"};

std::string identifier(std::string_view name) {
  std::string out(name);
  for (char& c : out)
    if (!std::isalnum(static_cast<unsigned char>(c))) c = '_';
  const bool is_word = std::find(std::begin(kWords), std::end(kWords), out) != std::end(kWords);
  if (is_word || out.empty()) out += "_";
  if (std::isdigit(static_cast<unsigned char>(out[0]))) out.insert(0, "_");
  return out;
}

std::string upper(std::string_view name) {
  std::string out(name);
  for (char& c : out) c = char(std::toupper(static_cast<unsigned char>(c)));
  return out;
}

struct CParam {
  std::string name, type, make;
};

CParam c_param(const std::string& id, std::string_view type) {
  if (type.starts_with("R.Tensor")) return {id, "DLTensor*", "rldb_aot_of_tensor(" + id + ")"};
  if (type.starts_with("T.int") || type.starts_with("T.uint") || type.starts_with("T.bool"))
    return {id, "int64_t", "rldb_aot_of_int(" + id + ")"};
  if (type.starts_with("T.float") || type.starts_with("T.bfloat"))
    return {id, "double", "rldb_aot_of_float(" + id + ")"};
  return {id, "TVMFFIAny", id};
}

// A comment neither ends nor begins in what it quotes.
std::string in_comment(std::string text) {
  for (const std::string_view mark : {"*/", "/*"})
    for (std::size_t at = 0; (at = text.find(mark, at)) != std::string::npos;) text.insert(at + 1, " ");
  return text;
}

// Adds a number if the name is taken.
std::string unlike(std::set<std::string>& taken, const std::string& name) {
  std::string made = name;
  for (int i = 2; !taken.insert(made).second; ++i) made = fmt::format("{}_{}", name, i);
  return made;
}

std::string in_quotes(std::string_view text) {
  std::string out;
  for (const char c : text) {
    if (c == '"' || c == '\\') out += '\\';
    out += c;
  }
  return out;
}

// `id`: the function's name in C.
std::string function_text(const Plan& plan, const std::string& library, std::size_t index, const std::string& id) {
  const bytecode::Executable& exe = *plan.build->executable;
  const bytecode::FunctionEntry& f = exe.functions[index];
  const bytecode::FunctionDebug* debug = exe.debug.function(bytecode::FunctionIndex(std::int64_t(index)));
  std::vector<CParam> params;
  std::set<std::string> taken;
  std::string as_written;
  for (std::int64_t i = 0; i < f.num_args; ++i) {
    const std::string name =
        std::size_t(i) < f.param_names.size() ? f.param_names[std::size_t(i)] : fmt::format("arg{}", i);
    std::string type;
    if (debug)
      for (const bytecode::VariableRange& v : debug->variables)
        if (v.is_parameter && v.reg == bytecode::RegName(i)) type = v.type;
    as_written += fmt::format("\n *   {}: {}", name, type.empty() ? "(not known)" : type);
    params.push_back(c_param(unlike(taken, identifier(name)), type));
  }
  const ir::Module* source = plan.build->source;
  const auto* function = source ? ir::as<ir::Function>(source->find(f.name)) : nullptr;
  if (function) as_written += "\n * gives " + ir::print_type(function->ret_type);
  std::string text = fmt::format("\n/* {}\n */\n", in_comment(f.name + as_written));
  text += fmt::format(
      "int {}_ffi_{}(void* self, const TVMFFIAny* args, int32_t count, TVMFFIAny* result)\n"
      "    __asm__(\"{}.{}\");\n",
      library, id, library, in_quotes(f.name));
  std::string list, made;
  for (const CParam& p : params) {
    list += fmt::format("{} {}, ", p.type, p.name);
    made += fmt::format("  args[{}] = {};\n", &p - params.data(), p.make);
  }
  text += fmt::format(
      "static inline int {0}_{1}({2}TVMFFIAny* result) {{\n  TVMFFIAny args[{3}];\n{4}"
      "  return {0}_ffi_{1}(0, args, {5}, result) == 0 ? 0 : {0}_error_code();\n}}\n",
      library, id, list, std::max<std::size_t>(1, params.size()), made, params.size());
  return text;
}

struct InterfaceRow {
  std::string_view name, result, parameters, comment;
};
constexpr InterfaceRow kInterface[] = {
#define RLDB_AOT_INTERFACE(name, symbol, types, result, parameters, comment) {#name, result, parameters, comment},
#include "rldb/codegen/llvm/aot_interface.def"
};

std::string error_codes() {
  static constexpr std::string_view kNames[] = {
      "type", "shape",       "argument_count", "unknown_function", "assert", "memory", "bounds", "unsupported",
      "file", "interrupted", "stack",          "too_long",         "raised"};
  static_assert(std::size(kNames) == std::size_t(runtime::ErrorKind::Raised) + 1);
  std::string text;
  for (std::size_t i = 0; i < std::size(kNames); ++i)
    text += fmt::format("  rldb_aot_error_{} = {}{}\n", kNames[i], i + 1, i + 1 < std::size(kNames) ? "," : "");
  return text;
}

}  // namespace

std::string header_text(const Plan& plan, const std::string& name) {
  const std::string guard = "RLDB_AOT_LIBRARY_" + upper(name) + "_H_";
  std::string text = fmt::format(
      "/* Made by `rldb build`. Functions return 0 or an error's code; then `*result` is not set, and the thread's\n"
      " * {0}_error_message() says why. A result is the caller's: give it back with {0}_release, before the library "
      "is\n"
      " * unloaded. A function of yours that keeps an argument copies it. The functions may be called from any thread. "
      "*/\n"
      "#ifndef {1}\n#define {1}\n",
      name, guard);
  text += kDeclarations;
  text += error_codes();
  text += kValues;
  text += "\n";
  for (const InterfaceRow& row : kInterface)
    text += fmt::format("/* {} */\n{} {}_{}({});\n", row.comment, row.result, name, row.name, row.parameters);
  for (const std::string& e : plan.externals) text += fmt::format("/* To be registered: {} */\n", in_comment(e));
  const bytecode::Executable& exe = *plan.build->executable;
  std::set<std::string> taken;
  for (const InterfaceRow& row : kInterface) taken.emplace(row.name);
  for (std::size_t i = 0; i < exe.functions.size(); ++i) {
    if (!plan.targets[i].exported) continue;
    std::string id = identifier(exe.functions[i].name);
    while (taken.contains(id) || taken.contains("ffi_" + id)) id += "_";  // both are declared
    taken.insert({id, "ffi_" + id});
    text += function_text(plan, name, i, id);
  }
  text += "\n#ifdef __cplusplus\n}\n#endif\n\n#endif\n";
  return text;
}

}  // namespace rldb::aot
