// RemoveWeightLayoutRewriteBlock: a kernel that converts a parameter to another layout takes it in that layout instead.
//
// Such a step is a block with the annotation `meta_schedule.layout_rewrite_preproc` that reads one parameter and writes
// one allocated buffer. It stays, and does nothing. Callers have to convert the parameter themselves.
#include <unordered_map>
#include <unordered_set>

#include "rldb/ir/attr_name/kernel.h"
#include "rldb/ir/walk.h"
#include "rldb/tir_passes/prim_funcs.h"

namespace rldb::passes {

using namespace ir;

namespace {

class LayoutTaker : public Rewriter {
 public:
  LayoutTaker(Context& ctx, const PrimFunc* f) : Rewriter(ctx), f_(f) {}

  const PrimFunc* run() {
    walk(f_->body, [&](const Node* n) {
      if (const auto* b = as<SBlock>(n)) find(b);
      return true;
    });
    if (taken_.empty()) return f_;
    const Stmt* body = rewrite(f_->body);
    std::vector<PrimParam> params(f_->params.begin(), f_->params.end());
    for (PrimParam& p : params)
      for (const auto& [from, to] : taken_)
        if (p.buffer && to->data == p.buffer->data) p.buffer = to;
    const PrimFunc* made = ctx_.prim_func(params, f_->ret_type, body, f_->attrs, f_->s_tir);
    ctx_.set_origin(made, f_);
    return made;
  }

 protected:
  const Buffer* visit_buffer(const Buffer* b) override {
    const auto it = taken_.find(b);
    return it == taken_.end() ? b : it->second;
  }
  const Stmt* visit_stmt(const Stmt* s) override {
    const auto* b = as<SBlock>(s);
    if (!b) return default_stmt(s);
    SBlock made = *(steps_.contains(b) ? b : as<SBlock>(default_stmt(b)));
    if (steps_.contains(b)) {
      made.reads = {};
      made.writes = {};
      made.body = no_op(ctx_);
    }
    std::vector<const Buffer*> allocated;
    for (const Buffer* a : b->alloc_buffers)
      if (!taken_.contains(a)) allocated.push_back(a);
    made.alloc_buffers = ctx_.list(allocated);
    return ctx_.sblock(made);
  }

 private:
  void find(const SBlock* b) {
    const Attr* mark = find_attr(b->annotations, attr_name::LayoutRewritePreproc);
    if (!mark || mark->integer == 0 || b->reads.size() != 1 || b->writes.size() != 1) return;
    const Buffer *weight = b->reads[0].buffer, *result = b->writes[0].buffer;
    for (const PrimParam& p : f_->params) {
      if (p.buffer != weight) continue;
      Buffer made = *result;
      made.name = weight->name;
      made.data = weight->data;
      taken_[result] = ctx_.buffer(made);
      steps_.insert(b);
    }
  }

  const PrimFunc* f_;
  std::unordered_map<const Buffer*, const Buffer*> taken_;  // from allocated buffers to the parameters they become
  std::unordered_set<const SBlock*> steps_;
};

}  // namespace

Result<const Module*> remove_weight_layout_rewrite_block(PassEnv& env, const Module* module, const NoOptions&) {
  return map_prim_funcs(env, module, [&](std::string_view, const PrimFunc* f) -> Result<const PrimFunc*> {
    return LayoutTaker(env.ctx, f).run();
  });
}

}  // namespace rldb::passes
