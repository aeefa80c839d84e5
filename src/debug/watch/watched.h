// Watched: one watchpoint during a run: the activations that it follows, the memory behind its names, the last values.
//
// An expression is read from memory: names are registers of one activation of a function, other names of them, or its
// symbolic variables. The memory of a name is known from the storage plan after its register was freed, so that a write
// to it is seen whoever makes it, and whatever the memory belongs to by then. An activation is identified by its frame
// and the time of its call; when it returns, the watchpoint ends with it (and is there again when the run goes back).
// User: Observer.
#pragma once

#include <map>
#include <optional>
#include <string>
#include <unordered_map>
#include <vector>

#include "debug/impl.h"
#include "debug/look/planned.h"
#include "debug/watch/kept_value.h"
#include "debug/watch/memory_of_name.h"
#include "rldb/expression/expression.h"

namespace rldb::debug {

// The memory that one instruction may have written.
struct Reached {
  std::vector<const runtime::Storage*> storages;
  bool anything = false;  // a packed function, an object with memory of its own
};

class Watched {
 public:
  Watched(Debugger::Impl& d, const Run& run, const Breakpoint& b);

  int number() const { return number_; }
  bool every_activation() const { return every_; }
  // The instructions of its function that give one of the names a value.
  const vm::StopSet& definitions() const { return definitions_; }

  // The memory of names whose registers were freed before the machine's time: as the run was after their definitions.
  void learn(const Run& run, const vm::Machine& m);
  // Follows the activations that exist now, with their current values.
  void begin(const vm::Machine& m);
  // A frame was pushed.
  void entered(const vm::Machine& m);
  // Frame `frame` has returned. True: the watchpoint belonged to it alone.
  bool left(std::size_t frame);
  // After the instruction at `pc` of frame `frame`: one text per activation whose value has changed.
  std::vector<std::string> changes(const vm::Machine& m, std::size_t frame, Pc pc, const Reached& reached);
  // After a command set values: the same.
  std::vector<std::string> set(const vm::Machine& m);
  const std::string& function() const { return function_name_; }

 private:
  struct Followed {
    std::size_t frame = 0;
    std::uint64_t entered = 0;
    KeptValue last;
    std::vector<const runtime::Storage*> storages;  // that its value was read from
    bool opaque = false;                            // and an object, with memory of its own
    std::string problem;                            // why it has no value although all names have one
    bool told = false;                              // the problem
    bool freed = false;                             // a name that is read has no register any more
    int freed_in = -1;                              // its storage in the plan
  };
  struct Name {
    std::string text;
    std::vector<int> aliases;  // bindings that only rename another variable
  };
  void add_definitions();
  std::vector<Pc> beginnings(std::string_view name, Pc before) const;
  void look_back_for(const std::string& name, const Followed& f, const Run& run, const vm::Machine& m);
  std::optional<runtime::Value> still_held(const std::string& name, const Run& run, const vm::Machine& now);
  void find_storage(std::string_view name);
  bool is_own(const vm::Machine& m, std::size_t frame) const;
  void follow(const vm::Machine& m, std::size_t frame);
  std::optional<runtime::Value> evaluate(Followed& f, const vm::Machine& m);
  std::optional<runtime::Value> storage_of(Followed& f, const vm::Machine& m);
  std::optional<runtime::Value> after_freeing(std::string_view name, const Followed& f, const vm::Machine& m) const;
  void remember(std::string_view name, const runtime::Tensor& t, const Followed& f, const vm::Machine& m);
  void uses(Followed& f, const runtime::Storage* s);
  void uses_all_of(Followed& f, const runtime::Value& value);
  void forget_uses(Followed& f);
  bool concerns(const Followed& f, const vm::Machine& m, std::size_t frame, Pc pc, const Reached& reached) const;
  std::string renewed(Followed& f, const vm::Machine& m, std::vector<std::string>& texts);
  std::string told(const Followed& f, std::string_view change, Pc at) const;
  bool is_bound(const Followed& f, const vm::Machine& m, std::size_t frame, Pc pc) const;
  std::string tenants(int storage, Pc pc) const;

  Debugger::Impl& d_;
  const CodeMap& map_;
  int number_;
  std::string expression_;
  runtime::Result<expression::Expression> parsed_;
  std::vector<Name> names_;
  bool every_;
  std::size_t frame_;
  std::uint64_t entered_;
  FunctionIndex function_;
  std::string function_name_;
  vm::StopSet definitions_;
  std::optional<StoragePlan> plan_;
  int storage_ = -1;  // `storage(NAME)`: of the plan
  // The last values of names: memory that the plan does not tell of (a callee returned it) outlives their registers.
  std::map<std::string, runtime::Value, std::less<>> held_;
  std::map<std::string, runtime::Value, std::less<>> learned_;  // the same when a machine goes on from where it is
  const vm::Machine* learned_of_ = nullptr;
  std::vector<Followed> followed_;                            // by frame
  std::unordered_map<const runtime::Storage*, int> readers_;  // activations that read it
};

// The names of an expression; those in the operand of `storage(...)`.
std::vector<std::string> watched_names(std::string_view expression);

}  // namespace rldb::debug
