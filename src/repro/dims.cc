// Which symbolic dims a function has, the values that they get, and how much its tensors take with them.
#include "repro/dims.h"

#include <fmt/format.h>

#include <algorithm>
#include <map>
#include <span>
#include <vector>

#include "rldb/ir/arith.h"
#include "rldb/ir/attr_name/relax.h"
#include "rldb/ir/walk.h"

namespace rldb::repro {

namespace {

using Vars = std::vector<const ir::Var*>;

std::vector<std::string> names_of(const Vars& vars) {
  std::vector<std::string> names;
  for (const ir::Var* v : vars)
    if (std::find(names.begin(), names.end(), v->name) == names.end()) names.emplace_back(v->name);
  return names;
}

std::vector<std::string> symbolic_dims(const ir::Function* f) {
  Vars vars;
  for (const ir::Var* p : f->params) ir::collect_vars(p->type, vars);
  // A parameter without a shape is generated with the shape to which it is cast.
  for (const ir::BindingBlock* block : f->body->blocks)
    for (const ir::Binding* b : block->bindings)
      if (b->is_match_cast() && std::find(f->params.begin(), f->params.end(), b->value) != f->params.end())
        ir::collect_vars(b->cast_type, vars);
  return names_of(vars);
}

std::vector<std::string> symbolic_dims(const ir::PrimFunc* f) {
  Vars vars;
  if (const auto* type = ir::as<ir::FuncType>(f->type))
    for (const ir::Type* t : type->params) ir::collect_vars(t, vars);
  return names_of(vars);
}

// The default for an unspecified dim: this, or the largest size for which the function is planned.
std::int64_t within_bound(ir::Span<ir::NamedAttr> attrs, const std::string& name, std::int64_t value) {
  const ir::Attr* upper = ir::find_attr(attrs, attr_name::TirVarUpperBound);
  const ir::Attr* most = upper && upper->is(ir::AttrKind::Dict) ? ir::find_attr(upper->fields, name) : nullptr;
  return most && most->is(ir::AttrKind::Int) && most->integer > 0 ? std::min(value, most->integer) : value;
}

bool tell_apart(session::Options& options, std::vector<std::string> open, ir::Span<ir::NamedAttr> attrs, bool falling) {
  std::erase_if(open, [&](const std::string& name) { return options.dims.contains(name); });
  if (open.size() < 2) return false;
  if (falling) std::reverse(open.begin(), open.end());
  for (std::size_t i = 0; i < open.size(); ++i)
    options.dims[open[i]] = within_bound(attrs, open[i], options.default_dim + std::int64_t(i));
  return true;
}

std::string text_of(const session::Options& options, const std::vector<std::string>& names,
                    ir::Span<ir::NamedAttr> attrs) {
  std::string text;
  for (const std::string& name : names) {
    const auto given = options.dims.find(name);
    const std::int64_t value =
        given == options.dims.end() ? within_bound(attrs, name, options.default_dim) : given->second;
    text += fmt::format("{}{}={}", text.empty() ? "" : ", ", name, value);
  }
  return text.empty() ? fmt::format("{}", options.default_dim) : text;
}

using Known = std::map<std::string, std::int64_t>;

void note_dims(ir::Span<const ir::Expr*> dims, std::span<const std::int64_t> sizes, Known& known) {
  for (std::size_t i = 0; i < dims.size() && i < sizes.size(); ++i)
    if (const auto* v = ir::as<ir::Var>(dims[i])) known.insert_or_assign(std::string(v->name), sizes[i]);
}

void note_dims(const ir::Type* type, const runtime::Value& value, Known& known) {
  using runtime::ValueKind;
  if (const auto* t = ir::as<ir::TensorType>(type); t && t->has_shape && value.is(ValueKind::Tensor))
    note_dims(t->shape, value.as_tensor().shape(), known);
  if (const auto* s = ir::as<ir::ShapeType>(type); s && s->has_values && value.is(ValueKind::Shape))
    note_dims(s->values, value.as_shape(), known);
  const auto* tuple = ir::as<ir::TupleType>(type);
  if (!tuple || !value.is(ValueKind::Tuple)) return;
  const auto& fields = value.as_tuple().fields;
  for (std::size_t i = 0; i < tuple->fields.size() && i < fields.size(); ++i)
    note_dims(tuple->fields[i], fields[i], known);
}

}  // namespace

bool tell_dims_apart(session::Options& options, const ir::Function* f, bool falling) {
  return tell_apart(options, symbolic_dims(f), f->attrs, falling);
}

bool tell_dims_apart(session::Options& options, const ir::PrimFunc* f) {
  return tell_apart(options, symbolic_dims(f), f->attrs, false);
}

bool has_symbolic_dims(const ir::Function* f) { return !symbolic_dims(f).empty(); }

bool has_free_dims(const session::Options& options, const ir::Function* f) {
  const std::vector<std::string> names = symbolic_dims(f);
  return std::any_of(names.begin(), names.end(), [&](const std::string& n) { return !options.dims.contains(n); });
}

std::string dims_text(const session::Options& options, const ir::Function* f) {
  return text_of(options, symbolic_dims(f), f->attrs);
}

std::string dims_text(const session::Options& options, const ir::PrimFunc* f) {
  return text_of(options, symbolic_dims(f), f->attrs);
}

std::string dims_text(session::Options options, const ir::Function* f, const std::vector<runtime::Value>& values) {
  for (std::size_t i = 0; i < f->params.size() && i < values.size(); ++i) {
    Known known;
    note_dims(f->params[i]->type, values[i], known);
    for (const auto& [name, size] : known) options.dims.insert_or_assign(name, size);
  }
  return dims_text(options, f);
}

double elements_with(ir::Context& ctx, const session::Options& options, const ir::Function* f) {
  ir::Analyzer analyzer(ctx);
  Vars vars;
  for (const ir::Var* p : f->params) ir::collect_vars(p->type, vars);
  for (const ir::Var* v : vars) {
    const auto given = options.dims.find(std::string(v->name));
    const std::int64_t value =
        given != options.dims.end() ? given->second : within_bound(f->attrs, std::string(v->name), options.default_dim);
    analyzer.bind(v, {value, value});
  }
  double sum = 0;
  const auto add = [&](const ir::Type* type) {
    const auto* t = ir::as<ir::TensorType>(type);
    if (!t || !t->has_shape) return;
    double elements = 1;
    for (const ir::Expr* dim : t->shape)
      elements *= double(std::max<std::int64_t>(1, analyzer.bounds(dim).max.value_or(1)));
    sum += elements;
  };
  for (const ir::Var* p : f->params) add(p->type);
  ir::walk(f->body, [&](const ir::Node* n) {
    if (const auto* b = ir::as<ir::Binding>(n)) add(b->var->type);
    return true;
  });
  return sum;
}

}  // namespace rldb::repro
