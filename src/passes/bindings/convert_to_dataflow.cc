// ConvertToDataflow(min_size=2): runs of at least that many pure bindings become dataflow blocks. A dataflow block that
// exists stays whatever its size, and takes in the pure bindings around it. The bindings of every function are then
// canonical: variables used only inside their block are dataflow variables, and no aliases are left.
#include "passes/common.h"
#include "rldb/ir/walk.h"
#include "rldb/ops/op_info.h"
#include "rldb/passes/pass_options.h"

namespace rldb::passes {

using namespace ir;

namespace {

class Extractor : public Rewriter {
 public:
  Extractor(Context& ctx, std::size_t min_size) : Rewriter(ctx), min_size_(min_size) {}

 protected:
  const SeqExpr* visit_seq(const SeqExpr* s) override {
    const SeqExpr* made = default_seq(s);
    Runs runs;
    for (const BindingBlock* block : made->blocks) {
      if (block->is_dataflow()) {
        runs.pure.insert(runs.pure.end(), block->bindings.begin(), block->bindings.end());
        runs.kept = block;
        continue;
      }
      for (const Binding* b : block->bindings) {
        if (is_pure(b->value)) {
          runs.pure.push_back(b);
          continue;
        }
        end_run(runs);
        runs.others.push_back(b);
      }
    }
    end_run(runs);
    if (!runs.others.empty()) runs.blocks.push_back(ctx_.block(runs.others));
    return runs.changed ? make_seq(ctx_, runs.blocks, made->body, s) : made;
  }

 private:
  struct Runs {
    std::vector<const BindingBlock*> blocks;
    std::vector<const Binding*> others;  // bindings of no dataflow block, since the last one
    std::vector<const Binding*> pure;    // the run so far
    const BindingBlock* kept = nullptr;  // the last dataflow block in the run
    bool changed = false;
  };

  void end_run(Runs& r) {
    if (r.pure.empty()) return;
    if (r.pure.size() < min_size_ && !r.kept) {
      r.others.insert(r.others.end(), r.pure.begin(), r.pure.end());
    } else {
      if (!r.others.empty()) r.blocks.push_back(ctx_.block(r.others));
      r.others.clear();
      r.blocks.push_back(ctx_.block(r.pure, true));
      r.changed = r.changed || !r.kept || r.kept->bindings.size() != r.pure.size();
    }
    r.pure.clear();
    r.kept = nullptr;
  }

  static bool is_pure(const Expr* value) {
    if (isa<If>(value)) return false;
    const auto* call = as<Call>(value);
    return !call || ops::is_pure_call(call);
  }

  std::size_t min_size_;
};

}  // namespace

Result<const Module*> convert_to_dataflow(PassEnv& env, const Module* module, const ConvertToDataflowOptions& options) {
  const std::int64_t min_size = options.min_size;
  return map_functions(env, module, [&](std::string_view, const Function* f) -> Result<const Function*> {
    return canonicalize(env.ctx,
                        Extractor(env.ctx, std::size_t(std::max<std::int64_t>(min_size, 1))).rewrite_function(f));
  });
}

}  // namespace rldb::passes
