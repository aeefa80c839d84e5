// InstrumentProfileIntrinsics: functions and loops are surrounded by T.start_profile_intrinsic and
// T.end_profile_intrinsic, with a number for each, which a code generator may turn into readings of a counter.
//
// A loop has a depth (0: outermost) and a height (0: innermost). Loops within a parallel loop are left alone. The
// numbers of functions and of their loops are counted from 0 in each run of the pass, as with TVM's reset_start_id:
// a pass keeps no state.
#include <unordered_map>

#include "rldb/ir/intrinsic/host.h"
#include "rldb/ir/walk.h"
#include "rldb/tir_passes/pass_options.h"
#include "rldb/tir_passes/prim_funcs.h"

namespace rldb::passes {

using namespace ir;

namespace {

struct LoopInfo {
  std::int32_t id = 0;
  std::int64_t depth = 0;
  std::int64_t height = 0;
  bool has_siblings = false;
  bool in_parallel = false;
};
using Loops = std::unordered_map<const ForStmt*, LoopInfo>;

// Numbers the loops from the outside in.
class LoopNumbers {
 public:
  explicit LoopNumbers(std::int32_t& next) : next_(next) {}
  Loops loops;

  void outermost(const Stmt* s) {
    walk(s, [&](const Node* n) {
      const auto* loop = as<ForStmt>(n);
      if (loop) {
        LoopInfo info{.id = next_++};
        info.height = within(loop->body, 0, false);
        loops[loop] = info;
      }
      return !loop && !isa<Expr>(n);
    });
  }

 private:
  // The height of what surrounds the statement.
  std::int64_t within(const Stmt* s, std::int64_t depth, bool in_parallel) {
    if (const auto* seq = as<SeqStmt>(s)) return sequence(seq, depth, in_parallel);
    if (const auto* loop = as<ForStmt>(s)) return loop_within(loop, depth, in_parallel) + 1;
    if (const auto* a = as<AttrStmt>(s)) return within(a->body, depth, in_parallel);
    if (const auto* i = as<IfThenElse>(s)) {
      const std::int64_t height = within(i->then_case, depth, in_parallel);
      return i->else_case ? std::max(height, within(i->else_case, depth, in_parallel)) : height;
    }
    return 0;
  }

  std::int64_t sequence(const SeqStmt* seq, std::int64_t depth, bool in_parallel) {
    std::vector<const ForStmt*> siblings;
    std::int64_t height = 0;
    for (const Stmt* s : seq->stmts) {
      const auto* loop = as<ForStmt>(s);
      if (!loop) continue;
      siblings.push_back(loop);
      height = std::max(height, loop_within(loop, depth, in_parallel));
    }
    if (siblings.size() > 1)
      for (const ForStmt* loop : siblings) loops[loop].has_siblings = true;
    return siblings.empty() ? 0 : height + 1;
  }

  std::int64_t loop_within(const ForStmt* loop, std::int64_t depth, bool in_parallel) {
    LoopInfo info{.id = next_++, .depth = depth + 1, .in_parallel = in_parallel};
    info.height = within(loop->body, depth + 1, in_parallel || loop->for_kind == ForKind::Parallel);
    loops[loop] = info;
    return info.height;
  }

  std::int32_t& next_;
};

class Instrument : public Rewriter {
 public:
  Instrument(Context& ctx, const Loops& loops, const InstrumentProfileIntrinsicsOptions& options)
      : Rewriter(ctx), loops_(loops), options_(options) {}

  const Stmt* around(const Stmt* s, std::int32_t id) {
    const Stmt* const parts[] = {mark(intrin::StartProfileIntrinsic, id), s, mark(intrin::EndProfileIntrinsic, id)};
    return ctx_.seq_stmt(parts);
  }

 protected:
  const Expr* visit_expr(const Expr* e) override { return e; }
  const Buffer* visit_buffer(const Buffer* b) override { return b; }
  const Stmt* visit_stmt(const Stmt* s) override {
    const Stmt* made = default_stmt(s);
    const auto found = isa<ForStmt>(s) ? loops_.find(as<ForStmt>(s)) : loops_.end();
    return found != loops_.end() && is_wanted(found->second) ? around(made, found->second.id) : made;
  }

 private:
  bool is_wanted(const LoopInfo& loop) const {
    if (loop.in_parallel || loop.height < options_.lwp_min_height) return false;
    return options_.instr_siblings ? loop.has_siblings : loop.depth <= options_.lwp_max_depth;
  }
  const Stmt* mark(Intrinsic id, std::int32_t number) {
    return ctx_.evaluate(ctx_.intrin(DType::Int(32), id, {ctx_.i32(number)}));
  }

  const Loops& loops_;
  const InstrumentProfileIntrinsicsOptions& options_;
};

}  // namespace

Result<const Module*> instrument_profile_intrinsics(PassEnv& env, const Module* module,
                                                    const InstrumentProfileIntrinsicsOptions& options) {
  std::int32_t next = 0;
  return map_prim_funcs(env, module, [&](std::string_view, const PrimFunc* f) -> Result<const PrimFunc*> {
    const std::int32_t id = next++;
    LoopNumbers numbers(next);
    numbers.outermost(f->body);
    Instrument instrument(env.ctx, numbers.loops, options);
    const Stmt* body = instrument.rewrite(f->body);
    return with_body(env.ctx, f, options.lwp_disable_func_prof ? body : instrument.around(body, id));
  });
}

}  // namespace rldb::passes
