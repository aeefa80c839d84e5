#include "repro/dims.h"

#include <fmt/format.h>

#include <algorithm>
#include <vector>

#include "rldb/ir/attr_name/relax.h"
#include "rldb/ir/walk.h"

namespace rldb::repro {

namespace {

std::vector<std::string> symbolic_dims(const ir::Function* f) {
  std::vector<const ir::Var*> vars;
  for (const ir::Var* p : f->params) ir::collect_vars(p->type, vars);
  // A parameter without a shape is generated with the shape to which it is cast.
  for (const ir::BindingBlock* block : f->body->blocks)
    for (const ir::Binding* b : block->bindings)
      if (b->is_match_cast() && std::find(f->params.begin(), f->params.end(), b->value) != f->params.end())
        ir::collect_vars(b->cast_type, vars);
  std::vector<std::string> names;
  for (const ir::Var* v : vars)
    if (std::find(names.begin(), names.end(), v->name) == names.end()) names.emplace_back(v->name);
  return names;
}

// The default for an unspecified dim: this, or the largest size for which the function is planned.
std::int64_t within_bound(const ir::Function* f, const std::string& name, std::int64_t value) {
  const ir::Attr* upper = ir::find_attr(f->attrs, attr_name::TirVarUpperBound);
  const ir::Attr* most = upper && upper->is(ir::AttrKind::Dict) ? ir::find_attr(upper->fields, name) : nullptr;
  return most && most->is(ir::AttrKind::Int) && most->integer > 0 ? std::min(value, most->integer) : value;
}

}  // namespace

bool tell_dims_apart(session::Options& options, const ir::Function* f, bool falling) {
  std::vector<std::string> open = symbolic_dims(f);
  std::erase_if(open, [&](const std::string& name) { return options.dims.contains(name); });
  if (open.size() < 2) return false;
  if (falling) std::reverse(open.begin(), open.end());
  for (std::size_t i = 0; i < open.size(); ++i)
    options.dims[open[i]] = within_bound(f, open[i], options.default_dim + std::int64_t(i));
  return true;
}

std::string dims_text(const session::Options& options, const ir::Function* f) {
  std::string text;
  for (const std::string& name : symbolic_dims(f)) {
    const auto given = options.dims.find(name);
    const std::int64_t value = given == options.dims.end() ? within_bound(f, name, options.default_dim) : given->second;
    text += fmt::format("{}{}={}", text.empty() ? "" : ", ", name, value);
  }
  return text.empty() ? fmt::format("{}", options.default_dim) : text;
}

}  // namespace rldb::repro
