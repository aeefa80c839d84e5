// Context: owns the nodes, types and names of Relay programs, and is the only way to make them. Nothing is freed before
// it. Not thread-safe.
#pragma once

#include <memory>
#include <string>
#include <vector>

#include "rldb/relay/ir/module.h"
#include "rldb/source/span.h"
#include "rldb/support/arena.h"

namespace rldb::relay {

class Context {
 public:
  Context();
  ~Context();
  Context(const Context&) = delete;
  Context& operator=(const Context&) = delete;

  std::string_view str(std::string_view text);  // interned
  template <class T>
  Span<T> list(const std::vector<T>& items) {
    return arena_.copy(std::span<const T>(items));
  }
  template <class T>
  const T* make(T value) {
    return arena_.make<T>(value);
  }
  std::uint32_t expr_count() const { return next_expr_; }

  // ---- types ----
  const TensorType* tensor(std::span<const Dim> shape, DType dtype);
  const TensorType* scalar(DType dtype) { return tensor({}, dtype); }
  const TupleType* tuple_type(std::span<const Type* const> fields);
  const FunctionType* function_type(std::span<const TypeVar* const> type_params, std::span<const Type* const> params,
                                    const Type* result);
  const TypeVar* type_var(std::string_view name);  // a new one
  const NamedType* named(std::string_view name, std::span<const Type* const> args);
  const ReferenceType* reference(const Type* value);
  const HoleType* hole();  // a new one

  // ---- expressions ----
  const Var* var(std::string_view name, const Type* annotation, const AttrValue* virtual_device = nullptr);
  const GlobalVar* global(std::string_view name);
  const Constant* constant(support::Ref<runtime::Tensor> tensor);
  const Op* op(const OpInfo* info);
  const Constructor* constructor(std::string_view name, std::string_view type_name, std::span<const Type* const> fields,
                                 std::uint32_t index);
  const Call* call(const Expr* callee, std::span<const Expr* const> args, std::span<const NamedAttr> attrs = {},
                   const MetaObject* attrs_object = nullptr);
  const Function* function(std::span<const TypeVar* const> type_params, std::span<const Var* const> params,
                           const Type* result, const Expr* body, std::span<const NamedAttr> attrs = {});
  const Let* let(const Var* var, const Expr* value, const Expr* body);
  const If* if_expr(const Expr* condition, const Expr* consequence, const Expr* alternative);
  const Tuple* tuple(std::span<const Expr* const> fields);
  const Projection* projection(const Expr* tuple, std::int64_t index);
  const Match* match(const Expr* value, std::span<const Arm> arms, bool complete);
  const RefCreate* ref_create(const Expr* value);
  const RefRead* ref_read(const Expr* reference);
  const RefWrite* ref_write(const Expr* reference, const Expr* value);

  // ---- attributes and metadata ----
  const AttrValue* attr(AttrValue value) { return make(value); }
  MetaObject* object(std::string_view type_key);  // its fields are filled by its creator
  Span<MetaField> fields(const std::vector<MetaField>& items) { return list(items); }

  // ---- modules ----
  // Sorts; names must be distinct.
  const Module* module(std::vector<const TypeDefinition*> types, std::vector<Definition> functions,
                       const Expr* body = nullptr);

  // ---- places in texts, by id of the expression ----
  void set_span(const Expr* e, source::Span span);
  source::Span span(const Expr* e) const;

 private:
  struct Tables;
  template <class T, class... Fields>
  T* node(int nesting, Fields... fields);

  support::Arena arena_;
  std::unique_ptr<Tables> tables_;
  std::uint32_t next_expr_ = 1;
  std::uint32_t next_type_ = 1;
  std::uint32_t next_object_ = 1;
  std::vector<source::Span> spans_;
};

}  // namespace rldb::relay
