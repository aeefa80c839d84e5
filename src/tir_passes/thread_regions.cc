#include "tir_passes/thread_regions.h"

#include <algorithm>

#include "rldb/ir/regions.h"
#include "rldb/ir/thread_tag.h"
#include "rldb/ir/threads.h"

namespace rldb::passes {

using namespace ir;

namespace {

// Whether threads of that kind have the memory of that scope in common, by TVM's ranks of both.
bool shares(std::string_view tag, std::string_view scope) {
  if (scope.empty() || scope.starts_with("global")) return true;
  if (scope.starts_with("shared")) return !tag.starts_with("blockIdx");
  return scope.starts_with("warp") && tag == kThreadIdxX;
}

bool uses(const std::vector<const Var*>& vars, const Var* v) {
  return std::find(vars.begin(), vars.end(), v) != vars.end();
}

}  // namespace

void ThreadRegions::define(const Var* v, const Expr* value) {
  value = substitute(ctx_, value, values_);
  std::vector<const Var*> vars;
  collect_vars(value, vars);
  if (std::any_of(threads_.begin(), threads_.end(), [&](const Thread& t) { return uses(vars, t.var); }))
    values_[v] = value;
}

void ThreadRegions::enter(const Stmt* s) {
  if (const auto* bind = as<BindStmt>(s)) return define(bind->var, bind->value);
  if (const auto* realize = as<SBlockRealize>(s)) {
    for (std::size_t i = 0; i < realize->iter_values.size(); ++i)
      define(realize->block->iter_vars[i].var, realize->iter_values[i]);
    return;
  }
  const std::string_view tag = thread_tag(s);
  if (tag.empty()) return;
  if (const auto* loop = as<ForStmt>(s))
    threads_.push_back({loop->var, tag, {loop->min, loop->extent}});
  else if (const auto* a = as<AttrStmt>(s); a && a->thread_var)
    threads_.push_back({a->thread_var, tag, {ctx_.int_imm(a->thread_var->dtype(), 0), a->value}});
}

BufferRegion ThreadRegions::joined(const BufferRegion& region) const {
  std::vector<Range> ranges;
  std::vector<const Var*> vars;
  for (const Range& r : region.region) {
    ranges.push_back({substitute(ctx_, r.min, values_), substitute(ctx_, r.extent, values_)});
    collect_vars(ranges.back().min, vars);
    collect_vars(ranges.back().extent, vars);
  }
  // The threads as serial loops around the access.
  const std::vector<BufferRegion> access{{region.buffer, ctx_.list(ranges)}};
  SBlock one{};
  one.name = "";
  one.reads = ctx_.list(access);
  one.body = ctx_.evaluate(ctx_.i32(0));
  const Stmt* nest = ctx_.sblock(one);
  bool shared = false;
  for (auto t = threads_.rbegin(); t != threads_.rend(); ++t) {
    if (!uses(vars, t->var) || !shares(t->tag, region.buffer->scope)) continue;
    nest = ctx_.for_stmt(t->var, t->range.min, t->range.extent, ForKind::Serial, nest);
    shared = true;
  }
  if (!shared) return region;
  return infer_regions(ctx_, {{}, nullptr, nest, {}, {}}).reads.at(0);
}

}  // namespace rldb::passes
