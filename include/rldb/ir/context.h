// Context: owns the nodes, types and names of a session, and is the only way to make them.
//
// "Builder that types as it builds": every maker sets the node's type. Calls to operators are typed by the CallTyper
// that the operator registry installs (ops::install), because ir lies below ops. Makers that can be given bad operands
// return Result; the others CHECK (a caller inside rldb made a mistake). Nothing is ever freed before the Context.
// Not thread-safe.
#pragma once

#include <cstdint>
#include <initializer_list>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "rldb/ir/module.h"
#include "rldb/source/diagnostic.h"
#include "rldb/source/span.h"
#include "rldb/support/arena.h"
#include "rldb/support/result.h"

namespace rldb::ir {

enum class Intrinsic : std::uint16_t;  // intrinsic.h

template <class T>
using Result = support::Result<T, source::Message>;

// The parts of a call before it has a type.
struct CallSpec {
  const Expr* callee = nullptr;
  Span<const Expr*> args;
  Span<NamedAttr> attrs;  // as given; the typer completes them to the row's list
  Span<const Type*> ty_args;
};

// Typing of calls and facts about operators, implemented by ops. `complete_attrs` puts declared attributes in the
// row's order with defaults; unknown operators keep their attributes as given.
class CallTyper {
 public:
  virtual ~CallTyper() = default;
  virtual bool is_known(std::string_view op) const = 0;
  virtual Result<Span<NamedAttr>> complete_attrs(Context& ctx, const CallSpec& call) const = 0;
  virtual Result<const Type*> infer(Context& ctx, const CallSpec& call) const = 0;
  virtual bool is_pure(const Call& call) const = 0;
};

class Context {
 public:
  Context();
  ~Context();
  Context(const Context&) = delete;
  Context& operator=(const Context&) = delete;

  void set_typer(const CallTyper* typer) { typer_ = typer; }
  const CallTyper* typer() const { return typer_; }

  // ---- memory ----
  std::string_view str(std::string_view text);  // interned: equal texts share the pointer
  template <class T>
  Span<T> list(const std::vector<T>& items) {
    return arena_.copy(std::span<const T>(items)).template subspan<0>();
  }
  template <class T>
  std::span<const T> list(std::span<const T> items) {
    return arena_.copy(items);
  }
  template <class T>
  std::span<const T> list(std::initializer_list<T> items) {
    return arena_.copy(std::span<const T>(items.begin(), items.size()));
  }
  std::uint32_t node_count() const { return next_id_ - 1; }
  std::size_t bytes_reserved() const { return arena_.bytes_reserved(); }

  // ---- types (interned) ----
  const AnyType* any() const { return any_; }
  const PrimType* prim(DType dtype);
  const PrimType* int64() { return prim(DType::Int(64)); }
  const PrimType* boolean() { return prim(DType::Bool()); }
  const ShapeType* shape_type(std::span<const Expr* const> values);
  const ShapeType* shape_type_ndim(int ndim = kUnknownNdim);
  const TensorType* tensor(std::span<const Expr* const> shape, DType dtype, const VDevice* vdevice = nullptr);
  const TensorType* tensor_ndim(int ndim, DType dtype, const VDevice* vdevice = nullptr);
  const TensorType* tensor_of(const Expr* shape_var, int ndim, DType dtype, const VDevice* vdevice = nullptr);
  const DTensorType* dtensor(const TensorType* tensor, const Attr* mesh, std::string_view placement);
  const TupleType* tuple_type(std::span<const Type* const> fields);
  const TupleType* void_type() { return tuple_type({}); }
  const FuncType* func_type(std::span<const Type* const> params, const Type* ret, bool pure = true);
  const FuncType* opaque_func_type(const Type* ret = nullptr, bool pure = false, std::string_view derive_func = {});
  const PointerType* pointer(DType element = DType::Void(), std::string_view scope = {});
  const VDevice* vdevice(VDevice v);

  // ---- Relax expressions ----
  const Var* var(std::string_view name, const Type* type);
  const Var* dataflow_var(std::string_view name, const Type* type);
  const GlobalVar* global_var(std::string_view name, const Type* type);  // interned by (name, type)
  const Constant* constant(runtime::Value tensor);                       // a tensor; kept alive by the Context
  const Constant* constant_typed(runtime::Value tensor, const Type* type);
  const MetaConstant* meta_constant(std::string_view key, std::int64_t index, const Type* type);
  const ShapeExpr* shape(std::span<const Expr* const> values);
  const ExternFunc* extern_func(std::string_view symbol, const Type* type = nullptr);  // null: opaque
  const Op* op(std::string_view name);                                                 // interned
  const StringImm* string(std::string_view text);
  const DTypeImm* dtype(DType t);
  const Tuple* tuple(std::span<const Expr* const> items);
  Result<const TupleGetItem*> tuple_get(const Expr* tuple, std::int64_t index);
  // Completes attributes and infers the type through the typer (operators) or the callee's type (functions).
  Result<const Call*> call(const CallSpec& spec);
  Result<const Call*> call(std::string_view op_name, std::initializer_list<const Expr*> args,
                           std::initializer_list<NamedAttr> attrs = {},
                           std::initializer_list<const Type*> ty_args = {});
  // The type is already known (TensorIR intrinsics, packed calls, passes that keep a type).
  const Call* call_typed(const Expr* callee, std::span<const Expr* const> args, const Type* type,
                         std::span<const NamedAttr> attrs = {}, std::span<const Type* const> ty_args = {});
  const If* if_expr(const Expr* cond, const SeqExpr* then_branch, const SeqExpr* else_branch, const Type* type);
  const Binding* binding(const Var* var, const Expr* value);
  const Binding* match_cast(const Var* var, const Expr* value, const Type* type);
  const BindingBlock* block(std::span<const Binding* const> bindings, bool dataflow = false);
  const SeqExpr* seq(std::span<const BindingBlock* const> blocks, const Expr* body);
  const Function* function(std::span<const Var* const> params, const SeqExpr* body, const Type* ret_type, bool pure,
                           std::span<const NamedAttr> attrs);
  const PrimFunc* prim_func(std::span<const PrimParam> params, const Type* ret_type, const Stmt* body,
                            std::span<const NamedAttr> attrs, bool s_tir = true);
  const OpaqueFunc* opaque_func(std::string_view name, std::string_view text);
  // FuncType of a PrimFunc as Relax sees it: buffers are tensors, scalars are prims.
  const FuncType* relax_type_of(const PrimFunc* f);

  // ---- scalar expressions (types follow TVM: operands of equal dtype, comparisons give bool with the same lanes) ----
  const IntImm* int_imm(DType dtype, std::int64_t value);
  const IntImm* i64(std::int64_t value) { return int_imm(DType::Int(64), value); }
  const IntImm* i32(std::int64_t value) { return int_imm(DType::Int(32), value); }
  const IntImm* bool_imm(bool value) { return int_imm(DType::Bool(), value); }
  const FloatImm* float_imm(DType dtype, double value);
  // The literal of any dtype.
  const Expr* literal(DType dtype, double value);
  // As given: no folding, no conversion; CHECKs that dtypes agree. scalar.h has the folding, converting forms.
  const BinaryExpr* binary(BinaryKind kind, const Expr* a, const Expr* b);
  const NotExpr* not_(const Expr* a);
  const CastExpr* cast(DType dtype, const Expr* value);
  const SelectExpr* select(const Expr* cond, const Expr* t, const Expr* f);
  const BufferLoad* load(const Buffer* buffer, std::span<const Expr* const> indices, const Expr* predicate = nullptr);
  const ProducerLoad* producer_load(const void* tensor, DType dtype, std::span<const Expr* const> indices);
  const Ramp* ramp(const Expr* base, const Expr* stride, const Expr* lanes);
  const Broadcast* broadcast(const Expr* value, const Expr* lanes);
  const Shuffle* shuffle(std::span<const Expr* const> vectors, std::span<const Expr* const> indices);
  const LetExpr* let(const Var* var, const Expr* value, const Expr* body);
  const CommReducer* comm_reducer(std::span<const Var* const> lhs, std::span<const Var* const> rhs,
                                  std::span<const Expr* const> results, std::span<const Expr* const> identities);
  const Lambda* lambda(std::span<const Var* const> params, std::span<const Expr* const> results);
  // tir.<name>(args) of the given dtype.
  const Call* intrin(DType dtype, Intrinsic id, std::initializer_list<const Expr*> args);

  // ---- buffers and statements ----
  const Buffer* buffer(const Buffer& fields);  // kind and id are filled in
  const Buffer* buffer(std::string_view name, std::span<const Expr* const> shape, DType dtype,
                       std::string_view scope = "global");
  const BindStmt* bind(const Var* var, const Expr* value);
  const AttrStmt* attr_stmt(const Attr* node, std::string_view key, const Expr* value, const Stmt* body,
                            const Var* thread_var = nullptr);
  const AssertStmt* assert_stmt(const Expr* cond, std::string_view error_kind, std::span<const std::string_view> parts);
  const BufferStore* store(const Buffer* buffer, const Expr* value, std::span<const Expr* const> indices,
                           const Expr* predicate = nullptr);
  const AllocBuffer* alloc_buffer(const Buffer* buffer, std::span<const NamedAttr> annotations = {});
  const DeclBuffer* decl_buffer(const Buffer* buffer, const Expr* data = nullptr);
  const AllocateStmt* allocate(const Var* var, DType dtype, std::span<const Expr* const> extents,
                               std::string_view scope, std::span<const NamedAttr> annotations = {});
  const AllocateConstStmt* allocate_const(const Var* var, runtime::Value tensor);
  const ForStmt* for_stmt(const Var* var, const Expr* min, const Expr* extent, ForKind kind, const Stmt* body,
                          std::span<const NamedAttr> annotations = {}, std::string_view thread_tag = {},
                          const Expr* step = nullptr);
  const WhileStmt* while_stmt(const Expr* cond, const Stmt* body);
  const IfThenElse* if_stmt(const Expr* cond, const Stmt* then_case, const Stmt* else_case = nullptr);
  const Stmt* seq_stmt(std::span<const Stmt* const> stmts);  // flattens; a single statement is returned itself
  const Evaluate* evaluate(const Expr* value);
  const SBlock* sblock(const SBlock& fields);  // kind and id are filled in
  const SBlockRealize* realize(std::span<const Expr* const> iter_values, const Expr* predicate, const SBlock* block);

  // ---- attributes ----
  const Attr* attr_none();
  const Attr* attr(bool v);
  const Attr* attr(std::int64_t v);
  const Attr* attr(int v) { return attr(std::int64_t(v)); }
  const Attr* attr(double v);
  const Attr* attr(std::string_view v);
  const Attr* attr(const char* v) { return attr(std::string_view(v)); }
  const Attr* attr(DType v);
  const Attr* attr(const Expr* v);
  const Attr* attr(const Type* v);
  const Attr* attr_node(const Node* v);
  const Attr* attr_list(std::span<const Attr* const> items, bool is_tuple = false);
  const Attr* attr_ints(std::span<const std::int64_t> items);
  const Attr* attr_dict(std::span<const NamedAttr> fields);
  const Attr* attr_opaque(std::string_view constructor, std::span<const Attr* const> items,
                          std::span<const NamedAttr> fields);
  NamedAttr named(std::string_view name, const Attr* value) { return {str(name), value}; }
  // A copy of `attrs` with one name set (or removed, when value is null).
  Span<NamedAttr> with_attr(Span<NamedAttr> attrs, std::string_view name, const Attr* value);

  // ---- facts about nodes ----
  SideTable<source::Span>& spans() { return spans_; }
  const SideTable<source::Span>& spans() const { return spans_; }
  // Provenance: the nodes that a node came from (rewriters record it); one step, follow it transitively.
  SideTable<Span<std::uint32_t>>& origins() { return origins_; }
  const SideTable<Span<std::uint32_t>>& origins() const { return origins_; }
  void set_origin(const Node* made, const Node* from);
  // The first span found along the provenance of a node.
  source::Span span_of(const Node* n) const;

 private:
  friend class ModuleBuilder;
  template <class T, class... A>
  const T* make(NodeKind kind, A&&... fields);
  template <class T, class... A>
  const T* make_expr(NodeKind kind, const Type* type, A&&... fields);
  const Attr* make_attr(Attr a);
  template <class T>
  const T* intern_type(T candidate);
  std::span<const Expr* const> dims(std::span<const Expr* const> values);

  support::Arena arena_;
  struct Tables;
  std::unique_ptr<Tables> tables_;
  std::uint32_t next_id_ = 1;  // 0 is "no node"
  std::uint32_t next_type_id_ = 1;
  const AnyType* any_ = nullptr;
  const CallTyper* typer_ = nullptr;
  SideTable<source::Span> spans_;
  SideTable<Span<std::uint32_t>> origins_;
};

}  // namespace rldb::ir
