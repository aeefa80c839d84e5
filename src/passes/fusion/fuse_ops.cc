// FuseOps(fuse_opt_level=-1, max_depth=256): bindings of dataflow blocks that are best computed together become private
// functions with the attribute Primitive, which FuseTIR turns into kernels.
//
// Candidates are described by the attribute op_pattern of the called PrimFuncs; partition.h decides what is fused.
// Correct where TVM is not: a call is never moved before the match_cast that defines one of its symbolic variables, and
// a value that a match_cast inspects is never part of a larger kernel.
#include <fmt/format.h>

#include "passes/common.h"
#include "passes/fusion/block_reads.h"
#include "passes/fusion/group_bindings.h"
#include "passes/fusion/op_pattern.h"
#include "rldb/fusion/partition.h"
#include "rldb/ir/attr_name/fusion.h"
#include "rldb/ir/op/call_tir.h"
#include "rldb/ir/op/call_tir_variant.h"
#include "rldb/ir/op_traits.h"
#include "rldb/passes/pass_options.h"
#include "rldb/passes/rewrite_counter.h"

namespace rldb::passes {

using namespace ir;

namespace {

class FusionGraph {
 public:
  FusionGraph(const Module* module, const BindingBlock* block, const BlockReads& reads)
      : nodes_(block->bindings.size()) {
    for (std::size_t i = 0; i < nodes_.size(); ++i) {
      const Binding* b = block->bindings[i];
      nodes_[i].pattern = pattern_of(module, b);
      nodes_[i].is_result = !b->var->is_dataflow();
      for (const BlockRead& r : reads.of(i)) nodes_[r.producer].readers.push_back({i, nodes_[i].pattern});
    }
  }
  const std::vector<fusion::FusionNode>& nodes() const { return nodes_; }

 private:
  static OpPattern pattern_of(const Module* module, const Binding* b) {
    if (b->is_match_cast()) return kOpaque;
    if (isa<TupleGetItem>(b->value)) return kInjective;
    const bool kernel = as_call_of(b->value, op::CallTir) || as_call_of(b->value, op::CallTirInplace);
    const auto* callee = kernel ? as<GlobalVar>(as<Call>(b->value)->args[0]) : nullptr;
    const auto* f = callee ? as<PrimFunc>(module->find(callee->name)) : nullptr;
    const Attr* pattern = f ? find_attr(f->attrs, attr_name::OpPattern) : nullptr;
    if (!pattern || pattern->integer < kElemWise || pattern->integer > kOutEWiseFusable) return kOpaque;
    return OpPattern(pattern->integer);
  }

  std::vector<fusion::FusionNode> nodes_;
};

void add_groups(const BindingBlock* block, const std::vector<std::size_t>& group, Span<NamedAttr> attrs,
                BindingGroups& groups) {
  std::unordered_map<std::size_t, std::size_t> size;
  for (const std::size_t g : group) ++size[g];
  std::unordered_map<std::size_t, std::size_t> number;
  std::unordered_set<std::size_t> left_out;
  for (std::size_t i = 0; i < group.size(); ++i) {
    if (size[group[i]] < 2 || left_out.contains(group[i])) continue;
    const auto text_of_group = [&] {
      return fmt::format("{} bindings from `{}` on are fused", size[group[i]], block->bindings[i]->var->name);
    };
    if (!number.contains(group[i]) && !may_rewrite(text_of_group)) {
      left_out.insert(group[i]);
      continue;
    }
    const auto [found, fresh] = number.try_emplace(group[i], groups.attrs.size());
    if (fresh) groups.attrs.push_back(attrs);
    groups.of[block->bindings[i]->var] = found->second;
  }
}

}  // namespace

Result<const Module*> fuse_ops(PassEnv& env, const Module* module, const FuseOpsOptions& options) {
  if (options.fuse_opt_level == 0) return module;
  const auto depth = std::size_t(std::max<std::int64_t>(options.max_depth, 0));
  ModuleBuilder builder(env.ctx, *module);
  FunctionTable table(env.ctx, module, builder);
  const Span<NamedAttr> attrs = env.ctx.with_attr({}, attr_name::Primitive, env.ctx.attr(true));
  bool changed = false;
  for (const ModuleEntry& e : module->entries) {
    const auto* f = as<Function>(e.function);
    if (!f || is_set(f->attrs, attr_name::Primitive)) continue;
    BindingGroups groups;
    std::unordered_set<const Var*> known = symbols_of_parameters(f);
    for (const BindingBlock* block : f->body->blocks) {
      if (!block->is_dataflow()) {
        add_symbols_of_casts(block, known);
        continue;
      }
      const BlockReads& reads = groups.reads.try_emplace(block, block, known).first->second;
      add_groups(block, fusion::partition(FusionGraph(module, block, reads).nodes(), depth), attrs, groups);
    }
    RLDB_TRY(const Function* made, group_bindings(env.ctx, f, groups, table, true));
    if (made == f) continue;
    builder.set(e.name, made);
    changed = true;
  }
  return changed ? builder.build() : module;
}

}  // namespace rldb::passes
