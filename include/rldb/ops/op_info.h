// The operator registry: one row per operator in ir/op/*.def has name, arguments, attributes, type inference, body,
// purity and a doc line; everything that knows operators (front end, printer, verifier, passes, help, docs) reads it.
//
// A row's signature is written in the order of TVM's Python API, which may mix arguments (expressions) and attributes
// (compile-time values); attributes keep the order in which TVM registers and prints them. Names are full: "relax.add".
#pragma once

#include <string_view>
#include <vector>

#include "rldb/ir/context.h"

namespace rldb::ops {

template <class T>
using Result = ir::Result<T>;

class Legalizer;
struct OpInfo;

enum class ArgKind : std::uint8_t {
  Tensor,   // a tensor; a Python number becomes a constant (or a scalar) of the other operands' dtype
  Tensors,  // a tuple of tensors, written as a tuple or list or as a variable of tuple type
  Shape,    // a shape, written as a list or tuple of dims, R.shape(...), or a variable of shape type
  Prim,     // a scalar: 1, n + 1
  Prims,    // a tuple of scalars (axes=[0, 1] of strided_slice)
  String,   // R.str
  DType,    // R.dtype
  Any,      // any expression, unchanged: callees, closures, objects
};
enum class AttrType : std::uint8_t {
  Bool,
  Int,
  Float,
  String,
  DType,
  Ints,   // a list of ints; a lone int is taken as a list of one
  Ints1,  // exactly 1, 2, 3 ints; fewer are repeated (strides=1 means [1, 1])
  Ints2,
  Ints3,
  Dims1,  // as Ints1, Ints2, Ints3, where an item may be a symbolic integer
  Dims2,
  Dims3,
  Pads1,  // 2, 4, 6 ints: begin and end of each side; fewer are completed as TVM does
  Pads2,
  Pads3,
  Floats,
  Scalar,   // one float literal that keeps a dtype: T.float32(0.5)
  Scalars,  // a list of them
  Any,      // unchanged
};

struct ArgInfo {
  std::string_view name;
  ArgKind kind = ArgKind::Tensor;
  bool optional = false;  // may be omitted; omitted trailing ones are absent from the call
  bool variadic = false;  // takes all remaining positional arguments
  std::string_view default_text;
};
struct AttrInfo {
  std::string_view name;
  AttrType type = AttrType::Any;
  bool nullable = false;  // None is a value
  bool required = false;
  std::string_view default_text;  // as in Python: 1e-05, "NCHW", None, [0, 1]
};
// One entry of the Python signature.
struct ParamInfo {
  std::string_view name;
  bool is_attr = false;
  bool keyword_only = false;
  int index = 0;  // in OpInfo::args or OpInfo::attrs
};

// The groups of rows of op/op.def; None: a registered operator.
enum class Family : std::uint8_t {
  None,
  Unary,
  Binary,
  Reduction,
  Creation,
  Manipulation,
  LinearAlgebra,
  Nn,
  Vision,
  Grad,
  CallTir,
  CallPacked,
  Closure,
  Device,
  Memory,
};
enum class Purity : std::uint8_t { Pure, Impure };
// How ToMixedPrecision treats the operator.
enum class MixedPolicy : std::uint8_t { Never, Follow, Always };

using InferFn = Result<const ir::Type*> (*)(ir::Context&, const OpInfo&, const ir::CallSpec&);
using LegalizeFn = Result<const ir::Expr*> (*)(Legalizer&, const ir::Call*);

struct OpInfo {
  std::string_view name;       // "relax.nn.relu"
  std::string_view signature;  // as in the row
  std::string_view doc;
  std::vector<ParamInfo> params;
  std::vector<ArgInfo> args;
  std::vector<AttrInfo> attrs;
  InferFn infer = nullptr;
  LegalizeFn legalize =
      nullptr;  // null: no tensor-expression body (run by a builtin, lowered by a pass, or unsupported)
  Family family = Family::None;
  Purity purity = Purity::Pure;
  MixedPolicy mixed = MixedPolicy::Never;

  std::string_view short_name() const { return name.substr(name.find('.') + 1); }  // "nn.relu"
  int arg_index(std::string_view arg) const;                                       // -1 when absent
};

// The row of that name ("relax.add", or "add" as after R.), or null.
const OpInfo* find(std::string_view name);
// The row of an operator; null for any other expression.
const OpInfo* find(const ir::Expr* callee);
const std::vector<OpInfo>& all();  // sorted by name
// The nearest registered name to a misspelt one, without "relax.", or empty.
std::string_view nearest_name(std::string_view name);
// The call's operator is `name` (full).
bool is_call_of(const ir::Expr* e, std::string_view name);

// Makes the Context type calls to operators, complete their attributes and know their purity.
void install(ir::Context& ctx);
// Purity of any call: operators by row, functions and packed functions by the callee's type.
bool is_pure_call(const ir::Call* call);
// The default of an attribute as a value (None when it has none).
const ir::Attr* default_value(ir::Context& ctx, const AttrInfo& attr);

}  // namespace rldb::ops
