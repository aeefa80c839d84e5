// GroupResults: uses of variables across the group's border, printed types beside types.
#include "debug/look/group_results.h"

#include <algorithm>
#include <charconv>

#include "rldb/ir/equal.h"
#include "rldb/ir/scalar.h"
#include "rldb/ir/type.h"
#include "rldb/ir/walk.h"
#include "rldb/support/text.h"

namespace rldb::debug {

namespace {

// How the printed type of a register that can hold a value of the type begins; empty: any may.
std::string_view kind_of(const ir::Type* type) {
  return ir::as<ir::TensorType>(type)  ? "R.Tensor("
         : ir::as<ir::ShapeType>(type) ? "R.Shape("
         : ir::as<ir::TupleType>(type) ? "R.Tuple("
                                       : "";
}

// The dims in `R.Tensor((n, 4), ...`, at this depth of parentheses; none if it has no shape.
std::vector<std::string_view> printed_dims(std::string_view printed) {
  std::vector<std::string_view> dims;
  const std::size_t open = printed.find("((");
  if (open == std::string_view::npos) return dims;
  std::size_t begin = open + 2, depth = 1;
  for (std::size_t at = begin; at < printed.size() && depth > 0; ++at) {
    const char c = printed[at];
    depth += c == '(';
    depth -= c == ')';
    if (depth > 1 || (depth == 1 && c != ',')) continue;
    if (const auto dim = support::trim(printed.substr(begin, at - begin)); !dim.empty()) dims.push_back(dim);
    begin = at + 1;
  }
  return dims;
}

bool has_shape(std::string_view printed) { return printed.find("((") != std::string_view::npos; }

}  // namespace

bool is_of_one_kind(const ir::Type* type) { return !kind_of(type).empty(); }

bool can_hold(std::string_view printed, const ir::Type* type) {
  if (!printed.starts_with(kind_of(type))) return false;
  const auto* tensor = ir::as<ir::TensorType>(type);
  if (!tensor || !tensor->has_shape || !has_shape(printed)) return true;
  const auto dims = printed_dims(printed);
  if (dims.size() != tensor->shape.size()) return false;
  for (std::size_t i = 0; i < dims.size(); ++i) {
    std::int64_t there = 0;
    const auto [end, error] = std::from_chars(dims[i].data(), dims[i].data() + dims[i].size(), there);
    const bool is_constant = error == std::errc() && end == dims[i].data() + dims[i].size();
    const auto known = ir::const_int(tensor->shape[i]);
    if (is_constant && known && *known != there) return false;
  }
  return true;
}

GroupResults::GroupResults(const std::vector<UserBinding>& bindings, const std::vector<ir::ModuleEntry>& written)
    : bindings_(bindings) {
  const auto note = [&](const ir::Node* node, int user) {
    ir::walk(node, [&](const ir::Node* n) {
      if (const auto* v = ir::as<ir::Var>(n)) users_[v->id].push_back(user);
      if (const auto* body = ir::as<ir::SeqExpr>(n); body && user != kResult)
        if (const auto* result = ir::as<ir::Var>(body->body)) users_[result->id].push_back(kResult);
      return true;
    });
  };
  for (std::size_t i = 0; i < bindings.size(); ++i)
    if (bindings[i].binding) note(bindings[i].binding->value, int(i));
  for (const ir::ModuleEntry& e : written)
    if (const auto* f = ir::as<ir::Function>(e.function); f && f->body) note(f->body->body, kResult);
}

bool GroupResults::is_used_outside(int binding, const std::vector<int>& group) const {
  const auto it = users_.find(bindings_[std::size_t(binding)].binding->var->id);
  return it != users_.end() && std::any_of(it->second.begin(), it->second.end(), [&](int user) {
           return user == kResult || std::find(group.begin(), group.end(), user) == group.end();
         });
}

int GroupResults::result_of(const std::vector<int>& group, std::string_view type) const {
  int found = -1;
  for (const int i : group) {
    const ir::Binding* b = bindings_[std::size_t(i)].binding;
    if (!b || !can_hold(type, b->var->type) || !is_used_outside(i, group)) continue;
    // Merged bindings have one value; of several results the one in this register is not known.
    if (found >= 0 && !ir::structural_equal(bindings_[std::size_t(found)].binding->value, b->value)) return -1;
    if (found < 0) found = i;
  }
  return found;
}

}  // namespace rldb::debug
