// The result is verified: applying the inverse to the map's results has to give the index back for every index.
#include "passes/layout/index_map.h"

#include <fmt/format.h>

#include <algorithm>

#include "rldb/frontend/written_value.h"
#include "rldb/ir/arith.h"
#include "rldb/ir/op_attr/layout_attr.h"
#include "rldb/ir/scalar.h"
#include "rldb/ir/walk.h"

namespace rldb::passes {

using namespace ir;

namespace {

constexpr std::string_view kIndexMap = "T.index_map";

// Part of an index: contributes value * factor to it.
struct Part {
  const Expr* value;
  std::int64_t factor;
};

class Inverter {
 public:
  Inverter(Context& ctx, const Lambda* map, Span<const Expr*> shape) : ctx_(ctx), map_(map), shape_(shape) {
    for (std::size_t i = 0; i < map->params.size(); ++i) at_[map->params[i]] = i;
  }

  const Lambda* run() {
    if (map_->params.size() != shape_.size()) return nullptr;
    std::vector<const Var*> axes;
    for (std::size_t k = 0; k < map_->results.size(); ++k)
      axes.push_back(ctx_.var(fmt::format("axis{}", k), ctx_.int64()));
    for (std::size_t k = 0; k < axes.size(); ++k)
      if (!split(map_->results[k], axes[k]) && !fused(map_->results[k], axes[k])) return nullptr;
    std::vector<const Expr*> results;
    for (const Var* v : map_->params) {
      const auto found = parts_.find(v);
      if (found == parts_.end()) return nullptr;
      std::vector<Part>& parts = found->second;
      std::stable_sort(parts.begin(), parts.end(), [](const Part& a, const Part& b) { return a.factor > b.factor; });
      const Expr* sum = nullptr;
      for (const Part& p : parts) {
        const Expr* term = mul(ctx_, p.value, ctx_.i64(p.factor));
        sum = sum ? add(ctx_, sum, term) : term;
      }
      results.push_back(sum);
    }
    return undoes(axes, results) ? ctx_.lambda(axes, results) : nullptr;
  }

 private:
  // v, v // f, v % m, v // f % m: the part of v from f upwards.
  bool split(const Expr* e, const Var* axis) {
    std::int64_t factor = 1;
    if (const auto* b = as<BinaryExpr>(e); b && b->op() == BinaryKind::FloorMod && const_int(b->b)) e = b->a;
    while (const auto* b = as<BinaryExpr>(e)) {
      const auto by = b->op() == BinaryKind::FloorDiv ? const_int(b->b) : std::nullopt;
      if (!by || *by < 1 || factor > (std::int64_t(1) << 40) / *by) return false;
      factor *= *by;
      e = b->a;
    }
    const auto* v = as<Var>(e);
    if (!v || !at_.count(v)) return false;
    parts_[v].push_back({axis, factor});
    return true;
  }

  // v * s + w * t + ...
  bool fused(const Expr* e, const Var* axis) {
    std::vector<const Expr*> open{e};
    while (!open.empty()) {
      const Expr* next = open.back();
      open.pop_back();
      const auto* b = as<BinaryExpr>(next);
      if (b && b->op() == BinaryKind::Add) {
        open.push_back(b->a);
        open.push_back(b->b);
        continue;
      }
      const bool scaled = b && b->op() == BinaryKind::Mul && const_int(b->b);
      const auto* v = as<Var>(scaled ? b->a : next);
      const auto extent = v && at_.count(v) ? const_int(shape_[at_.at(v)]) : std::nullopt;
      const std::int64_t step = scaled ? *const_int(b->b) : 1;
      if (!extent || step < 1 || parts_.count(v)) return false;
      parts_[v].push_back({floor_mod(ctx_, floor_div(ctx_, axis, ctx_.i64(step)), ctx_.i64(*extent)), 1});
    }
    return true;
  }

  bool undoes(const std::vector<const Var*>& axes, const std::vector<const Expr*>& results) {
    Analyzer analyzer(ctx_);
    for (std::size_t i = 0; i < shape_.size(); ++i) analyzer.bind_range(map_->params[i], {ctx_.i64(0), shape_[i]});
    VarMap place;
    for (std::size_t k = 0; k < axes.size(); ++k) place[axes[k]] = map_->results[k];
    for (std::size_t i = 0; i < results.size(); ++i)
      if (!analyzer.prove_equal(substitute(ctx_, results[i], place), map_->params[i])) return false;
    return true;
  }

  Context& ctx_;
  const Lambda* map_;
  Span<const Expr*> shape_;
  std::unordered_map<const Var*, std::size_t> at_;
  std::unordered_map<const Var*, std::vector<Part>> parts_;
};

}  // namespace

namespace {

const Lambda* lambda_of(const Attr* map) {
  if (!map) return nullptr;
  if (map->is(AttrKind::Opaque) && !map->items.empty()) map = map->items[0];
  return map->is(AttrKind::Expr) ? as<Lambda>(map->node) : nullptr;
}

}  // namespace

const Lambda* index_map_of(const Call* call) { return lambda_of(find_attr(call->attrs, op_attr::IndexMap)); }

const Lambda* read_index_map(Context& ctx, std::string_view text) {
  const Lambda* map = lambda_of(frontend::read_written_attr(ctx, text));
  return map && !map->results.empty() ? map : nullptr;
}

const Attr* index_map_attr(Context& ctx, const Lambda* map) {
  const Attr* const items[] = {ctx.attr(static_cast<const Expr*>(map))};
  return ctx.attr_opaque(kIndexMap, items, {});
}

const Lambda* inverse_of(Context& ctx, const Lambda* map, Span<const Expr*> shape) {
  return Inverter(ctx, map, shape).run();
}

}  // namespace rldb::passes
