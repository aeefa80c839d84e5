// Context: makes Relay nodes; types are interned.
#include "rldb/relay/ir/context.h"

#include <algorithm>
#include <map>
#include <tuple>
#include <unordered_map>
#include <unordered_set>

#include "rldb/support/check.h"

namespace rldb::relay {

namespace {

using TypeList = std::vector<const Type*>;
TypeList list_of(std::span<const Type* const> types) { return {types.begin(), types.end()}; }

struct DimLess {
  static auto key(const Dim& d) { return std::tuple(d.kind, d.wide, d.value, d.symbol); }
  bool operator()(const Dim& a, const Dim& b) const { return key(a) < key(b); }
};
struct DTypeKey {
  std::uint32_t bits;
  explicit DTypeKey(DType t)
      : bits(std::uint32_t(t.code) << 24 | std::uint32_t(t.bits) << 16 | std::uint32_t(std::uint16_t(t.lanes))) {}
  auto operator<=>(const DTypeKey&) const = default;
};
using TensorKey = std::pair<std::vector<std::tuple<DimKind, bool, std::int64_t, const MetaObject*>>, DTypeKey>;
using FunctionKey = std::tuple<std::vector<const TypeVar*>, TypeList, const Type*>;

int deepest(std::span<const Expr* const> items) {
  int depth = 0;
  for (const Expr* e : items) depth = std::max(depth, int(e->nesting));
  return depth;
}
// The nesting of a scope that holds `body`.
int scope(const Expr* body) { return body->nesting + 1; }

}  // namespace

struct Context::Tables {
  std::unordered_set<std::string_view> strings;
  std::vector<support::Ref<runtime::Tensor>> tensors;
  std::map<TensorKey, const TensorType*> tensor_types;
  std::map<TypeList, const TupleType*> tuple_types;
  std::map<FunctionKey, const FunctionType*> function_types;
  std::map<std::pair<std::string_view, TypeList>, const NamedType*> named_types;
  std::map<const Type*, const ReferenceType*> reference_types;
  std::unordered_map<std::string_view, const GlobalVar*> globals;
  std::unordered_map<const OpInfo*, const Op*> ops;
};

Context::Context() : tables_(std::make_unique<Tables>()) {}
Context::~Context() = default;

std::string_view Context::str(std::string_view text) {
  if (const auto found = tables_->strings.find(text); found != tables_->strings.end()) return *found;
  return *tables_->strings.insert(arena_.copy_string(text)).first;
}

// ---- types ----

const TensorType* Context::tensor(std::span<const Dim> shape, DType dtype) {
  TensorKey key{{}, DTypeKey(dtype)};
  for (const Dim& d : shape) key.first.push_back(DimLess::key(d));
  const TensorType*& type = tables_->tensor_types[std::move(key)];
  if (!type) type = make(TensorType{{TypeKind::Tensor, next_type_++}, arena_.copy(shape), dtype});
  return type;
}

const TupleType* Context::tuple_type(std::span<const Type* const> fields) {
  const TupleType*& type = tables_->tuple_types[list_of(fields)];
  if (!type) type = make(TupleType{{TypeKind::Tuple, next_type_++}, arena_.copy(fields)});
  return type;
}

const FunctionType* Context::function_type(std::span<const TypeVar* const> type_params,
                                           std::span<const Type* const> params, const Type* result) {
  FunctionKey key{{type_params.begin(), type_params.end()}, list_of(params), result};
  const FunctionType*& type = tables_->function_types[std::move(key)];
  if (!type)
    type =
        make(FunctionType{{TypeKind::Function, next_type_++}, arena_.copy(type_params), arena_.copy(params), result});
  return type;
}

const TypeVar* Context::type_var(std::string_view name) {
  return make(TypeVar{{TypeKind::Variable, next_type_++}, str(name)});
}

const NamedType* Context::named(std::string_view name, std::span<const Type* const> args) {
  name = str(name);
  const NamedType*& type = tables_->named_types[{name, list_of(args)}];
  if (!type) type = make(NamedType{{TypeKind::Named, next_type_++}, name, arena_.copy(args)});
  return type;
}

const ReferenceType* Context::reference(const Type* value) {
  const ReferenceType*& type = tables_->reference_types[value];
  if (!type) type = make(ReferenceType{{TypeKind::Reference, next_type_++}, value});
  return type;
}

const HoleType* Context::hole() { return make(HoleType{{TypeKind::Hole, next_type_++}}); }

// ---- expressions ----

template <class T, class... Fields>
T* Context::node(int nesting, Fields... fields) {
  const auto depth = static_cast<std::uint16_t>(std::min(nesting, kMaxNesting + 1));
  return arena_.make<T>(Expr{T::kKind, depth, next_expr_++}, fields...);
}

const Var* Context::var(std::string_view name, const Type* annotation, const AttrValue* virtual_device) {
  return node<Var>(0, str(name), annotation, virtual_device);
}

const GlobalVar* Context::global(std::string_view name) {
  name = str(name);
  const GlobalVar*& global = tables_->globals[name];
  if (!global) global = node<GlobalVar>(0, name);
  return global;
}

const Constant* Context::constant(support::Ref<runtime::Tensor> tensor) {
  tables_->tensors.push_back(tensor);
  return node<Constant>(0, static_cast<const runtime::Tensor*>(tensor.get()));
}

const Op* Context::op(const OpInfo* info) {
  const Op*& op = tables_->ops[info];
  if (!op) op = node<Op>(0, info);
  return op;
}

const Constructor* Context::constructor(std::string_view name, std::string_view type_name,
                                        std::span<const Type* const> fields, std::uint32_t index) {
  return node<Constructor>(0, str(name), str(type_name), arena_.copy(fields), index);
}

const Call* Context::call(const Expr* callee, std::span<const Expr* const> args, std::span<const NamedAttr> attrs,
                          const MetaObject* attrs_object) {
  return node<Call>(std::max(deepest(args), int(callee->nesting)), callee, arena_.copy(args), arena_.copy(attrs),
                    attrs_object);
}

const Function* Context::function(std::span<const TypeVar* const> type_params, std::span<const Var* const> params,
                                  const Type* result, const Expr* body, std::span<const NamedAttr> attrs) {
  return node<Function>(scope(body), arena_.copy(type_params), arena_.copy(params), result, body, arena_.copy(attrs));
}

const Let* Context::let(const Var* var, const Expr* value, const Expr* body) {
  const int below = body->kind == ExprKind::Let ? body->nesting : scope(body);
  return node<Let>(std::max(scope(value), below), var, value, body);
}

const If* Context::if_expr(const Expr* condition, const Expr* consequence, const Expr* alternative) {
  const int nesting = std::max({int(condition->nesting), scope(consequence), scope(alternative)});
  return node<If>(nesting, condition, consequence, alternative);
}

const Tuple* Context::tuple(std::span<const Expr* const> fields) {
  return node<Tuple>(deepest(fields), arena_.copy(fields));
}

const Projection* Context::projection(const Expr* tuple, std::int64_t index) {
  return node<Projection>(tuple->nesting, tuple, index);
}

const Match* Context::match(const Expr* value, std::span<const Arm> arms, bool complete) {
  int nesting = value->nesting;
  for (const Arm& arm : arms) nesting = std::max(nesting, scope(arm.body));
  return node<Match>(nesting, value, arena_.copy(arms), complete);
}

const RefCreate* Context::ref_create(const Expr* value) { return node<RefCreate>(value->nesting, value); }
const RefRead* Context::ref_read(const Expr* reference) { return node<RefRead>(reference->nesting, reference); }
const RefWrite* Context::ref_write(const Expr* reference, const Expr* value) {
  return node<RefWrite>(std::max(int(reference->nesting), int(value->nesting)), reference, value);
}

MetaObject* Context::object(std::string_view type_key) {
  return arena_.make<MetaObject>(MetaObject{next_object_++, str(type_key), {}, {}, false});
}

// ---- modules ----

const Module* Context::module(std::vector<const TypeDefinition*> types, std::vector<Definition> functions,
                              const Expr* body) {
  std::sort(types.begin(), types.end(), [](const auto* a, const auto* b) { return a->name < b->name; });
  std::sort(functions.begin(), functions.end(),
            [](const Definition& a, const Definition& b) { return a.name->name < b.name->name; });
  return make(Module{list(types), list(functions), body});
}

const TypeDefinition* Module::find_type(std::string_view name) const {
  const auto at = std::lower_bound(types.begin(), types.end(), name,
                                   [](const TypeDefinition* t, std::string_view n) { return t->name < n; });
  return at != types.end() && (*at)->name == name ? *at : nullptr;
}

const Function* Module::find(std::string_view name) const {
  const auto at = std::lower_bound(functions.begin(), functions.end(), name,
                                   [](const Definition& d, std::string_view n) { return d.name->name < n; });
  return at != functions.end() && at->name->name == name ? at->function : nullptr;
}

// ---- places ----

void Context::set_span(const Expr* e, source::Span span) {
  if (spans_.size() <= e->id) spans_.resize(std::max<std::size_t>(e->id + 1, spans_.size() * 2));
  spans_[e->id] = span;
}

source::Span Context::span(const Expr* e) const { return e->id < spans_.size() ? spans_[e->id] : source::Span(); }

std::string_view to_string(ExprKind kind) {
  switch (kind) {
#define RLDB_RELAY_EXPR(Kind, word) \
  case ExprKind::Kind:              \
    return word;
#include "rldb/relay/ir/node.def"
  }
  RLDB_UNREACHABLE("kind of expression");
}

}  // namespace rldb::relay
