// Observes a run of the evaluator for a profile: functions, and the kernels, operators and packed functions that their
// bindings call. Users: profile.cc.
#pragma once

#include <map>

#include "debug/profile/call_costs.h"
#include "rldb/eval/eval.h"

namespace rldb::debug {

class EvalObserver : public eval::Watcher {
 public:
  EvalObserver(session::Session& session, Collector& collector, CallCosts& costs)
      : session_(session), collector_(collector), costs_(costs) {}
  void enter(std::string_view name, const ir::Function* f, runtime::PackedArgs args) override;
  void leave(const runtime::Value& result) override;
  void begin(const ir::Binding* b) override { bindings_.push_back(b); }
  runtime::Result<support::Unit> bound(const ir::Binding*, const runtime::Value&) override {
    bindings_.pop_back();
    return support::Unit{};
  }
  runtime::Result<support::Unit> calling(std::string_view name, const ir::PrimFunc* f,
                                         runtime::PackedArgs args) override;
  runtime::Result<support::Unit> called(std::string_view name, const ir::PrimFunc* f, runtime::PackedArgs args,
                                        const runtime::Value& result) override;
  void note_callees(Profile& profile) const;

 private:
  int binding_row();
  void note_called(int binding, std::string_view name);
  int callee_row(std::string_view name, CallKind kind);

  session::Session& session_;
  Collector& collector_;
  CallCosts& costs_;
  std::vector<std::string> functions_;        // in progress
  std::vector<const ir::Binding*> bindings_;  // in progress
  std::map<std::pair<std::string, const ir::Binding*>, int> binding_rows_;
  std::map<std::string, int, std::less<>> callee_rows_;
  std::map<int, std::vector<std::string>> called_by_;  // by row of bindings
};

}  // namespace rldb::debug
