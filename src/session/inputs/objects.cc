// Makes objects from their uses, or runs the functions of the module that make them.
#include "session/inputs/objects.h"

#include <algorithm>

#include "rldb/bytecode/runtime_function.h"
#include "rldb/eval/eval.h"
#include "rldb/ir/walk.h"
#include "rldb/runtime/tensor_file.h"
#include "session/inputs/made_up_function.h"
#include "session/inputs/object_use.h"

namespace rldb::session {

using ir::as;
using runtime::Value;
using runtime::ValueKind;

namespace {

// The leaves of a type that only a program can make.
std::size_t count_objects(const ir::Type* t) {
  if (t->kind == ir::TypeKind::Any) return 1;
  const auto* tuple = as<ir::TupleType>(t);
  std::size_t n = 0;
  for (std::size_t i = 0; tuple && i < tuple->fields.size(); ++i) n += count_objects(tuple->fields[i]);
  return n;
}

bool has_functions(const ir::Type* t) {
  const auto* tuple = as<ir::TupleType>(t);
  return t->kind == ir::TypeKind::Func ||
         (tuple && std::any_of(tuple->fields.begin(), tuple->fields.end(), has_functions));
}

void collect_objects(const ir::Type* t, const Value& v, std::vector<Value>& out) {
  if (t->kind == ir::TypeKind::Any) out.push_back(v);
  const auto* tuple = as<ir::TupleType>(t);
  if (!tuple || !v.is(ValueKind::Tuple) || v.as_tuple().fields.size() != tuple->fields.size()) return;
  for (std::size_t i = 0; i < tuple->fields.size(); ++i) collect_objects(tuple->fields[i], v.as_tuple().fields[i], out);
}

// The names of the variables that become the leaves of a result; a leaf without one gets an empty name.
void collect_names(const ir::Function* f, const ir::Expr* e, std::vector<std::string>& out) {
  if (e->type->kind == ir::TypeKind::Any) {
    const auto* v = as<ir::Var>(e);
    out.push_back(v ? std::string(v->name) : std::string());
    return;
  }
  if (const auto* tuple = as<ir::Tuple>(e)) {
    for (const ir::Expr* item : tuple->items) collect_names(f, item, out);
    return;
  }
  for (const ir::BindingBlock* block : f->body->blocks)
    for (const ir::Binding* b : block->bindings)
      if (b->var == e && b->value && !b->is_match_cast()) return collect_names(f, b->value, out);
  out.resize(out.size() + count_objects(e->type));
}

// The type of the rows that a call writes to a cache; null: it is not known.
const ir::TensorType* rows_of(const ObjectCall& call) {
  const auto* t = call.args.size() == 2 ? as<ir::TensorType>(call.args[1]->type) : nullptr;
  return t && t->has_shape && !t->shape.empty() && !t->dtype.is_void() ? t : nullptr;
}

}  // namespace

ObjectInputs::ObjectInputs(const ir::Module* module, std::string_view function, Dims dims, std::vector<bool> given,
                           const runtime::PackedRegistry& registry, std::uint64_t seed, Make make)
    : module_(module),
      f_(module ? as<ir::Function>(module->find(function)) : nullptr),
      name_(function),
      dims_(std::move(dims)),
      given_(std::move(given)),
      registry_(registry),
      seed_(seed),
      make_(std::move(make)) {
  for (std::size_t i = 0; f_ && i < f_->params.size(); ++i)
    if (i >= given_.size() || !given_[i]) objects_ += count_objects(f_->params[i]->type);
}

std::optional<Value> ObjectInputs::object_for(std::size_t parameter) {
  const std::size_t place = next_++;
  if (!f_ || parameter >= f_->params.size()) return std::nullopt;
  const ir::Var* p = f_->params[parameter];
  const bool whole = p->type->kind == ir::TypeKind::Any;
  if (whole)
    if (auto cache = cache_for(p)) return cache;
  if (auto made = from_makers(p, place)) {
    prepare_sequences(p, *made);
    return made;
  }
  if (whole && use_of_object(module_, f_, p).only_passed_on) return Value::null();
  return std::nullopt;
}

std::optional<std::int64_t> ObjectInputs::dim(const ir::Expr* e) const {
  eval::ScalarEnv env;
  env.var = [&](const ir::Var* v) -> std::optional<Value> {
    const auto it = dims_.find(v);
    return it == dims_.end() ? std::nullopt : std::optional(Value::of_int(it->second));
  };
  const auto value = eval::eval_scalar(e, env);
  if (!value.ok() || !value->is(ValueKind::Int)) return std::nullopt;
  return value->as_int();
}

std::optional<Value> ObjectInputs::call(std::string_view name, std::vector<Value> args) const {
  const runtime::PackedInfo* f = registry_.find(name);
  if (!f) return std::nullopt;
  auto made = f->function->native(args);
  if (!made.ok()) return std::nullopt;
  return std::move(made).value();
}

// A cache with as many rows as the function's view of it needs besides those that it appends.
std::optional<Value> ObjectInputs::cache_for(const ir::Var* parameter) const {
  const ir::TensorType* rows = nullptr;
  std::int64_t appended = 0, viewed = -1;
  for (const ObjectCall& c : use_of_object(module_, f_, parameter).calls) {
    const bool appends = c.name == runtime_function::KvCacheAppend;
    if (c.place == 0 && (appends || c.name == runtime_function::KvCacheUpdate) && rows_of(c)) {
      rows = rows_of(c);
      if (const auto n = appends ? dim(rows->shape[0]) : std::nullopt; n && viewed < 0) appended += *n;
    }
    const bool views = c.place == 0 && c.name == runtime_function::KvCacheView && c.args.size() == 2 && viewed < 0;
    const auto* shape = views ? as<ir::ShapeType>(c.args[1]->type) : nullptr;
    if (shape && shape->has_values && !shape->values.empty()) viewed = dim(shape->values[0]).value_or(-1);
  }
  if (!rows) return std::nullopt;
  const std::int64_t filled = std::max<std::int64_t>(0, viewed - appended);
  std::vector<std::int64_t> shape{std::max<std::int64_t>(1, filled)};
  for (std::size_t i = 1; i < rows->shape.size(); ++i) {
    const auto n = dim(rows->shape[i]);
    if (!n) return std::nullopt;
    shape.push_back(*n);
  }
  auto first = runtime::random_tensor(shape, rows->dtype, seed_);
  if (!first.ok()) return std::nullopt;
  shape[0] = std::max<std::int64_t>(shape[0], filled + appended);
  return call(runtime_function::KvCacheCreate, {*first, Value::of_shape(shape), Value::of_int(filled)});
}

// Functions that need no objects and give some.
void ObjectInputs::find_makers() {
  makers_.emplace();
  for (const ir::ModuleEntry& e : module_->entries) {
    const auto* f = as<ir::Function>(e.function);
    if (!f || e.name == name_ || count_objects(f->ret_type) == 0) continue;
    const auto needs = [](const ir::Var* p) { return count_objects(p->type) > 0 || has_functions(p->type); };
    if (std::any_of(f->params.begin(), f->params.end(), needs)) continue;
    const auto value = make_(std::string(e.name));
    if (!value) continue;
    Maker maker{std::string(e.name), {}, {}};
    collect_objects(f->ret_type, *value, maker.objects);
    collect_names(f, f->body->body, maker.names);
    if (maker.objects.size() == count_objects(f->ret_type)) makers_->push_back(std::move(maker));
  }
}

// By the name of the variable that a maker returns; else from a maker of as many objects, in order; else from the only
// one that makes a single one.
std::optional<Value> ObjectInputs::from_makers(const ir::Var* parameter, std::size_t place) {
  if (!makers_) find_makers();
  const Value* found = nullptr;
  for (const Maker& m : *makers_)
    for (std::size_t i = 0; i < m.objects.size() && i < m.names.size() && !found; ++i)
      if (m.names[i] == parameter->name) found = &m.objects[i];
  for (const Maker& m : *makers_)
    if (!found && m.objects.size() == objects_ && place < m.objects.size()) found = &m.objects[place];
  for (const Maker& m : *makers_)
    if (!found && m.objects.size() == 1 && !m.objects[0].is_null()) found = &m.objects[0];
  if (!found) return std::nullopt;
  auto copy = runtime::deep_copy(*found);
  return copy.ok() ? std::optional(std::move(copy).value()) : std::nullopt;
}

// A paged cache that the function attends to without beginning a forward: sequences that get the rows it is given.
void ObjectInputs::prepare_sequences(const ir::Var* parameter, const Value& cache) const {
  const std::vector<ObjectCall> calls = use_of_object(module_, f_, parameter).calls;
  const auto is = [](std::string_view name) { return [name](const ObjectCall& c) { return c.name == name; }; };
  if (std::any_of(calls.begin(), calls.end(), is(runtime_function::KvStateBegin))) return;
  const auto it = std::find_if(calls.begin(), calls.end(), is(runtime_function::PagedCacheAttention));
  if (it == calls.end() || it->args.size() < 4) return;
  const auto* rows = as<ir::TensorType>(it->args[3]->type);
  if (!rows || !rows->has_shape || rows->shape.size() < 3) return;
  const bool is_batched = rows->shape.size() == 4;
  const auto first = dim(rows->shape[0]);
  const auto length = is_batched ? dim(rows->shape[1]) : first;
  const std::int64_t sequences = is_batched ? first.value_or(0) : 1;
  constexpr std::int64_t kMost = 1'000;
  if (!length || sequences < 1 || sequences > kMost) return;
  std::vector<std::int64_t> ids;
  for (std::int64_t i = 0; i < sequences; ++i) {
    ids.push_back(i);
    if (!call(runtime_function::KvStateAdd, {cache, Value::of_int(i)})) return;
  }
  const std::vector<std::int64_t> lengths(ids.size(), *length);
  (void)call(runtime_function::KvStateBegin, {cache, Value::of_shape(ids), Value::of_shape(lengths)});
}

std::optional<Value> ObjectInputs::function_of(const ir::FuncType* type, std::uint64_t salt) const {
  return made_up_function(type, dims_, seed_ * 1000003 + salt);
}

}  // namespace rldb::session
