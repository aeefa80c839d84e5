// Expressions: Relax and TensorIR share one hierarchy (a scalar expression is a Relax expression by itself, and there
// is one Var), as in TVM since 2026.
//
// Every expression has a type from the moment the Builder creates it. `fields(f)` lists a struct's fields once;
// walk, equality, hash and the raw dump derive from it: f.use("name", x) for what is read, f.def("name", x) for
// variables and buffers that are bound here (definitions come before the uses they scope over), f.data("name", x)
// for plain data. Sources: RFC 0089 section 4.1, TVM's include/tvm/relax.
#pragma once

#include "rldb/ir/attr.h"
#include "rldb/ir/node.h"
#include "rldb/ir/type.h"
#include "rldb/runtime/value.h"

namespace rldb::op {
struct Row;  // op_traits.h
}

namespace rldb::ir {

struct Stmt;
struct Buffer;
struct IntrinsicInfo;
struct SeqExpr;

struct Expr : Node {
  RLDB_KINDS(Var, Lambda)
  const Type* type;
  ExprKind expr_kind() const {
    return kind >= NodeKind::Add && kind <= NodeKind::Or ? ExprKind::Binary : ExprKind(kind);
  }
  // dtype of a scalar expression; void for anything else.
  DType dtype() const {
    const auto* p = as<PrimType>(type);
    return p ? p->dtype : DType::Void();
  }
};

// ---- Relax ----

struct Var : Expr {
  RLDB_KINDS(Var, DataflowVar)
  std::string_view name;
  bool is_dataflow() const { return kind == NodeKind::DataflowVar; }
  template <class F>
  void fields(F&& f) const {
    f.use("type", type);
  }
};
struct GlobalVar : Expr {
  RLDB_KIND(GlobalVar)
  std::string_view name;
  template <class F>
  void fields(F&& f) const {
    f.data("name", name);
  }
};
struct Constant : Expr {
  RLDB_KIND(Constant)
  const runtime::Value* value;  // a tensor, owned by the Context
  template <class F>
  void fields(F&& f) const {
    f.data("value", value);
  }
};
struct MetaConstant : Expr {
  RLDB_KIND(MetaConstant)
  std::string_view key;  // "relax.expr.Constant"
  std::int64_t index;
  template <class F>
  void fields(F&& f) const {
    f.data("key", key);
    f.data("index", index);
  }
};
struct ShapeExpr : Expr {
  RLDB_KIND(ShapeExpr)
  Span<const Expr*> values;
  template <class F>
  void fields(F&& f) const {
    f.use("values", values);
  }
};
struct ExternFunc : Expr {
  RLDB_KIND(ExternFunc)
  std::string_view symbol;
  template <class F>
  void fields(F&& f) const {
    f.data("symbol", symbol);
    f.use("type", type);
  }
};
// One node per name and Context. Relax operators carry their full name ("relax.nn.relu"), TensorIR intrinsics
// "tir.<name>". An operator of either table carries its row: what reads traits or compares operators looks at rows.
struct Op : Expr {
  RLDB_KIND(Op)
  std::string_view name;
  const op::Row* row;              // of the Relax operator that this is; null for everything else
  const IntrinsicInfo* intrinsic;  // of the TensorIR intrinsic that this is; null for everything else
  template <class F>
  void fields(F&& f) const {
    f.data("name", name);
  }
};
// Operators of the registry carry every declared attribute, in the row's order, defaults filled in.
// `ty_args` are the explicit types of call_tir, call_packed, ... (out_ty=, ty_args=, OLD sinfo_args=).
struct Call : Expr {
  RLDB_KIND(Call)
  const Expr* callee;
  Span<const Expr*> args;
  Span<NamedAttr> attrs;
  Span<const Type*> ty_args;
  template <class F>
  void fields(F&& f) const {
    f.use("callee", callee);
    f.use("args", args);
    f.data("attrs", attrs);
    f.use("ty_args", ty_args);
    f.use("type", type);
  }
};
struct Tuple : Expr {
  RLDB_KIND(Tuple)
  Span<const Expr*> items;
  template <class F>
  void fields(F&& f) const {
    f.use("items", items);
  }
};
struct TupleGetItem : Expr {
  RLDB_KIND(TupleGetItem)
  const Expr* tuple;
  std::int64_t index;
  template <class F>
  void fields(F&& f) const {
    f.use("tuple", tuple);
    f.data("index", index);
  }
};
struct If : Expr {
  RLDB_KIND(If)
  const Expr* cond;
  const SeqExpr* then_branch;
  const SeqExpr* else_branch;
  template <class F>
  void fields(F&& f) const;
};

// kind VarBinding: var = value. kind MatchCast: var = R.match_cast(value, cast_type); symbolic variables that
// cast_type mentions for the first time are defined here.
struct Binding : Node {
  RLDB_KINDS(VarBinding, MatchCast)
  const Var* var;
  const Expr* value;
  const Type* cast_type;  // null for VarBinding
  bool is_match_cast() const { return kind == NodeKind::MatchCast; }
  template <class F>
  void fields(F&& f) const {
    f.use("value", value);
    if (cast_type) f.def_type("cast_type", cast_type);
    f.def("var", var);
  }
};
struct BindingBlock : Node {
  RLDB_KINDS(BindingBlock, DataflowBlock)
  Span<const Binding*> bindings;
  bool is_dataflow() const { return kind == NodeKind::DataflowBlock; }
  template <class F>
  void fields(F&& f) const {
    f.use("bindings", bindings);
  }
};
struct SeqExpr : Expr {
  RLDB_KIND(SeqExpr)
  Span<const BindingBlock*> blocks;
  const Expr* body;
  template <class F>
  void fields(F&& f) const {
    f.use("blocks", blocks);
    f.use("body", body);
  }
};
template <class F>
void If::fields(F&& f) const {
  f.use("cond", cond);
  f.use("then_branch", static_cast<const Expr*>(then_branch));
  f.use("else_branch", static_cast<const Expr*>(else_branch));
}

// `type` is a FuncType. `attrs` holds attr_name::GlobalSymbol for public functions. Symbolic variables of the parameter
// types are defined by the signature.
struct Function : Expr {
  RLDB_KIND(Function)
  Span<const Var*> params;
  const SeqExpr* body;
  const Type* ret_type;
  bool is_pure;
  Span<NamedAttr> attrs;
  bool is_private() const;
  template <class F>
  void fields(F&& f) const {
    f.def_params("params", params);
    f.use("ret_type", ret_type);
    f.data("is_pure", is_pure);
    f.data("attrs", attrs);
    f.use("body", static_cast<const Expr*>(body));
  }
};

// A parameter of a PrimFunc: a scalar or handle variable, or a buffer (then `var` is the handle behind it).
struct PrimParam {
  const Var* var;
  const Buffer* buffer;  // null for scalars and opaque handles
};
struct PrimFunc : Expr {
  RLDB_KIND(PrimFunc)
  Span<PrimParam> params;
  const Type* ret_type;  // empty tuple type: void
  const Stmt* body;
  Span<NamedAttr> attrs;
  bool s_tir;  // schedulable TensorIR (@T.prim_func(s_tir=True) and every old-form function)
  bool is_private() const;
  template <class F>
  void fields(F&& f) const {
    f.def_prim_params("params", params);
    f.use("ret_type", ret_type);
    f.data("s_tir", s_tir);
    f.data("attrs", attrs);
    f.use("body", body);
  }
};
struct OpaqueFunc : Expr {
  RLDB_KIND(OpaqueFunc)
  std::string_view name;
  std::string_view text;  // verbatim, decorators included, dedented
  template <class F>
  void fields(F&& f) const {
    f.data("text", text);
  }
};
struct StringImm : Expr {
  RLDB_KIND(StringImm)
  std::string_view value;
  template <class F>
  void fields(F&& f) const {
    f.data("value", value);
  }
};
struct DTypeImm : Expr {
  RLDB_KIND(DTypeImm)
  DType value;
  template <class F>
  void fields(F&& f) const {
    f.data("value", value);
  }
};

// ---- scalar expressions ----

struct IntImm : Expr {
  RLDB_KIND(IntImm)
  std::int64_t value;
  template <class F>
  void fields(F&& f) const {
    f.use("type", type);
    f.data("value", value);
  }
};
struct FloatImm : Expr {
  RLDB_KIND(FloatImm)
  double value;
  template <class F>
  void fields(F&& f) const {
    f.use("type", type);
    f.data("value", value);
  }
};
struct BinaryExpr : Expr {
  RLDB_KINDS(Add, Or)
  BinaryKind op() const { return BinaryKind(kind); }
  const Expr* a;
  const Expr* b;
  template <class F>
  void fields(F&& f) const {
    f.use("a", a);
    f.use("b", b);
  }
};
struct NotExpr : Expr {
  RLDB_KIND(Not)
  const Expr* a;
  template <class F>
  void fields(F&& f) const {
    f.use("a", a);
  }
};
struct CastExpr : Expr {
  RLDB_KIND(Cast)
  const Expr* value;
  template <class F>
  void fields(F&& f) const {
    f.use("type", type);
    f.use("value", value);
  }
};
struct SelectExpr : Expr {
  RLDB_KIND(Select)
  const Expr* cond;
  const Expr* true_value;
  const Expr* false_value;
  template <class F>
  void fields(F&& f) const {
    f.use("cond", cond);
    f.use("true_value", true_value);
    f.use("false_value", false_value);
  }
};

// A buffer: `data` is the pointer variable behind it. Symbolic variables of the shape that are not defined yet are
// defined where the buffer is a parameter or a match_buffer target.
struct Buffer : Node {
  RLDB_KIND(Buffer)
  std::string_view name;
  const Var* data;
  DType dtype;
  Span<const Expr*> shape;
  Span<const Expr*> strides;  // empty: compact
  const Expr* elem_offset;    // null: zero, or free for match_buffer
  std::string_view scope;     // "global", "shared", "local", ...
  int data_alignment;         // bytes; 64 by default
  int offset_factor;          // 0 when not given
  Span<const Expr*> axis_separators;
  const Attr* layout;  // null: default
  int buffer_type;     // 1: "auto" (broadcasting), 0 otherwise
  template <class F>
  void fields(F&& f) const {
    f.data("dtype", dtype);
    f.def_shape("shape", shape);
    f.def_shape("strides", strides);
    f.use("elem_offset", elem_offset);
    f.data("scope", scope);
    f.data("data_alignment", std::int64_t(data_alignment));
    f.data("offset_factor", std::int64_t(offset_factor));
    f.use("axis_separators", axis_separators);
    f.data("layout", layout);
    f.data("buffer_type", std::int64_t(buffer_type));
  }
};
struct BufferLoad : Expr {
  RLDB_KIND(BufferLoad)
  const Buffer* buffer;
  Span<const Expr*> indices;
  const Expr* predicate;  // null mostly
  template <class F>
  void fields(F&& f) const {
    f.use("buffer", buffer);
    f.use("indices", indices);
    f.use("predicate", predicate);
  }
};
// An element of a te::Tensor; lowered away before anything leaves te.
struct ProducerLoad : Expr {
  RLDB_KIND(ProducerLoad)
  const void* tensor;  // const te::TensorNode*
  Span<const Expr*> indices;
  template <class F>
  void fields(F&& f) const {
    f.use("indices", indices);
  }
};
struct Ramp : Expr {
  RLDB_KIND(Ramp)
  const Expr* base;
  const Expr* stride;
  const Expr* lanes;  // an IntImm, or a scalable expression (vscale * n)
  template <class F>
  void fields(F&& f) const {
    f.use("base", base);
    f.use("stride", stride);
    f.use("lanes", lanes);
  }
};
struct Broadcast : Expr {
  RLDB_KIND(Broadcast)
  const Expr* value;
  const Expr* lanes;
  template <class F>
  void fields(F&& f) const {
    f.use("value", value);
    f.use("lanes", lanes);
  }
};
struct Shuffle : Expr {
  RLDB_KIND(Shuffle)
  Span<const Expr*> vectors;
  Span<const Expr*> indices;
  template <class F>
  void fields(F&& f) const {
    f.use("vectors", vectors);
    f.use("indices", indices);
  }
};
struct LetExpr : Expr {
  RLDB_KIND(Let)
  const Var* var;
  const Expr* value;
  const Expr* body;
  template <class F>
  void fields(F&& f) const {
    f.use("value", value);
    f.def("var", var);
    f.use("body", body);
  }
};
struct CommReducer : Expr {
  RLDB_KIND(CommReducer)
  Span<const Var*> lhs;
  Span<const Var*> rhs;
  Span<const Expr*> results;
  Span<const Expr*> identities;
  template <class F>
  void fields(F&& f) const {
    f.def_params("lhs", lhs);
    f.def_params("rhs", rhs);
    f.use("results", results);
    f.use("identities", identities);
  }
};
struct Lambda : Expr {
  RLDB_KIND(Lambda)
  Span<const Var*> params;
  Span<const Expr*> results;  // more than one: the lambda returned a tuple or list
  template <class F>
  void fields(F&& f) const {
    f.def_params("params", params);
    f.use("results", results);
  }
};

}  // namespace rldb::ir
