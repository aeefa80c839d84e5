// Body: collects the bindings of a Relax function as they are read: blocks, branches, names for temporaries.
#pragma once

#include <algorithm>
#include <optional>
#include <string_view>
#include <utility>
#include <vector>

#include "frontend/script/temporary_names.h"
#include "rldb/ir/context.h"

namespace rldb::frontend::script {

class Body {
 public:
  // `text`: all that is read into it.
  Body(ir::Context& ctx, std::string_view text) : ctx_(ctx), text_(text) { scopes_.emplace_back(); }

  void append(const ir::Binding* b) { top().current.push_back(b); }
  void begin_dataflow() {
    flush();
    top().dataflow = true;
  }
  void end_dataflow() {
    // An empty dataflow block is dropped: it has no meaning.
    flush();
    top().dataflow = false;
  }
  bool in_dataflow() const { return scopes_.back().dataflow; }
  void begin_branch() { scopes_.emplace_back(); }
  // Bindings of the branch that are not closed yet; the last may be removed again.
  std::vector<const ir::Binding*>& current() { return top().current; }
  bool branch_is_empty() const { return scopes_.back().current.empty() && scopes_.back().blocks.empty(); }
  // The last binding of an ordinary variable in the last closed block, or null.
  const ir::Binding* last_output() {
    if (top().blocks.empty()) return nullptr;
    const auto bindings = top().blocks.back()->bindings;
    for (std::size_t i = bindings.size(); i-- > 0;)
      if (!bindings[i]->var->is_dataflow()) return bindings[i];
    return nullptr;
  }
  const ir::SeqExpr* end_branch(const ir::Expr* result) {
    const ir::SeqExpr* seq = finish(result);
    scopes_.pop_back();
    return seq;
  }
  const ir::SeqExpr* finish(const ir::Expr* result) {
    flush();
    return ctx_.seq(top().blocks, result);
  }
  // Bindings so far, excluding those of outer scopes.
  std::size_t size() const {
    std::size_t n = scopes_.back().current.size();
    for (const auto* b : scopes_.back().blocks) n += b->bindings.size();
    return n;
  }
  int next_temporary() { return temporaries_++; }
  int temporaries() const { return temporaries_; }
  void set_temporaries(int n) { temporaries_ = n; }
  // Temporaries of local functions are numbered on their own, but avoid the names that the whole text spells.
  void note_inner_temporaries(int end) { inner_temporaries_ = std::max(inner_temporaries_, end); }
  int take_inner_temporaries() { return std::exchange(inner_temporaries_, 0); }
  const TemporaryNames& written_names() {
    if (!written_names_) written_names_.emplace(text_);
    return *written_names_;
  }

 private:
  struct Level {
    std::vector<const ir::BindingBlock*> blocks;
    std::vector<const ir::Binding*> current;
    bool dataflow = false;
  };
  Level& top() { return scopes_.back(); }
  void flush() {
    Level& level = top();
    if (level.current.empty()) return;
    level.blocks.push_back(ctx_.block(level.current, level.dataflow));
    level.current.clear();
  }
  ir::Context& ctx_;
  std::vector<Level> scopes_;
  int temporaries_ = 0;
  int inner_temporaries_ = 0;
  const std::string_view text_;
  std::optional<TemporaryNames> written_names_;  // once there are temporaries
};

}  // namespace rldb::frontend::script
