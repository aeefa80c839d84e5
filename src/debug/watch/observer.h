// Observer: detects hits of watchpoints and numeric catchpoints while a run continues.
//
// It checks only after single instructions: those that define a watched name, and calls, which may write tensors. A
// call is skipped at once unless one of its tensors lies in storage from which a watched expression was last read.
// Going forward the first hit stops the run; going back (`record`) the last hit of a window is kept. Values are
// compared with those from when the run was resumed, or at the window's start. Users: the forward and backward loops.
#pragma once

#include <optional>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "debug/impl.h"
#include "debug/look/planned.h"
#include "debug/watch/kept_value.h"
#include "debug/watch/numeric.h"

namespace rldb::debug {

class Observer : public vm::Hook {
 public:
  // For the enabled points that need one. `active()` false: there are none.
  Observer(Debugger::Impl& d, const Run& run);
  ~Observer();
  Observer(const Observer&) = delete;
  Observer& operator=(const Observer&) = delete;
  bool active() const { return !watches_.empty() || !catches_.empty(); }
  const vm::StopSet& observed() const { return observed_; }

  // Records current values; discards hits.
  void begin(const vm::Machine& m, bool record);
  bool after_instruction(const vm::Machine& m, std::size_t frame_depth, Pc pc) override;

  struct Seen {
    int number = 0;
    std::string text;  // the change, and its cause
  };
  // Hits of one instruction; when recording, of the last one with any.
  const std::vector<Seen>& seen() const { return seen_; }
  std::vector<Seen> take() { return std::exchange(seen_, {}); }
  bool hit() const { return !seen_.empty(); }
  std::uint64_t time() const { return time_; }  // after that instruction

 private:
  struct Watch {
    int number;
    std::string expression;
    std::size_t frame;
    FunctionIndex function;   // of that frame
    vm::StopSet definitions;  // instructions that define a name in it
    KeptValue last;
    std::set<const runtime::Storage*> storages;
    std::optional<StoragePlan> plan;  // for a storage: where its name lies, live or not
    int storage = -1;
  };
  struct Catch {
    int number;
    NumericEvent event;
  };
  void add_watch(const Breakpoint& b, const Run& run);
  void add_calls();
  runtime::NumericEvents events() const;
  void look_for(runtime::NumericEvents events);
  std::optional<runtime::Value> evaluate(Watch& w, const vm::Machine& m);
  std::optional<runtime::Value> storage_of(Watch& w, const vm::Machine& m);
  void find_storage(Watch& w, std::string_view name);
  std::string tenants(const Watch& w, Pc pc) const;
  bool concerns(const Watch& w, const vm::Machine& m, std::size_t frame, Pc pc) const;
  void note(const vm::Machine& m, int number, std::string text);
  std::string instruction(Pc pc) const;

  Debugger::Impl& d_;
  const CodeMap& map_;
  const Run& run_;
  vm::StopSet observed_;
  std::vector<Watch> watches_;
  std::vector<Catch> catches_;
  bool record_ = false;
  std::vector<Seen> seen_;
  std::uint64_t time_ = 0;
};

}  // namespace rldb::debug
