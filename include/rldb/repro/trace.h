// The record of a run: every tensor that was computed, when, by what, from what, and its contents then.
//
// An event is a tensor at the moment it was computed: a parameter, the value of a binding, or a kernel's output
// in the tensor it was given (lowered code). Names that it gets later (`lv = alloc`) are added to the event.
// A read refers to an earlier event; if the memory holds something else by then, the reading records it and who
// overwrote it. Users: compare, the sanitizers.
#pragma once

#include <map>
#include <memory>
#include <span>
#include <string>
#include <vector>

#include "rldb/eval/eval.h"
#include "rldb/runtime/value.h"

namespace rldb::repro {

inline constexpr std::size_t kNoEvent = std::size_t(-1);

struct Reading {
  std::string name;              // of the variable, or of what was written there
  std::size_t event = kNoEvent;  // that computed it
  bool overwritten = false;      // its contents had changed when it was read
  bool unwritten = false;        // nothing had been written there
  bool shared = false;           // the call that reads it writes to its memory, by another parameter that may not alias
  std::size_t writer = kNoEvent;  // the event of another tensor that was written to its memory in between
};

struct Event {
  std::string function;
  std::size_t activation = 0;            // which call of the function, from 1
  const ir::Binding* binding = nullptr;  // null: a parameter, or an instruction
  std::string instruction;               // of an executable, that computed it; empty: a parameter, or a binding
  std::vector<std::string> names;        // of variables that refer to it
  std::string callee;                    // kernel, operator or function; empty: none
  const ir::PrimFunc* kernel = nullptr;  // of that name, if it is one
  std::string storage;                   // name of its storage; empty: its own memory
  std::string allocation;                // the name of its allocation in that storage
  std::string beside;                    // another result of the same call, with which it shares memory; empty: none
  std::vector<Reading> inputs;
  runtime::Value value;  // a copy
  const std::string& name() const { return names.front(); }
  bool is_parameter() const { return !binding && instruction.empty(); }
};

// A name that was given a value which had been computed before: a parameter, a variable that is bound to another one,
// to a part or to what a function returned, and what a function returns.
struct Handed {
  enum class Kind : std::uint8_t { Parameter, Binding, Result } kind = Kind::Binding;
  std::string function;
  std::size_t activation = 0;            // which call of the function, from 1
  std::string name;                      // empty: the result
  const ir::Binding* binding = nullptr;  // of a parameter: of the call, in the caller
  const ir::Expr* returned = nullptr;    // of a result
  std::size_t position = 0;              // of a parameter
  // Of a parameter the caller, of a variable the function that returned its value; empty: there is none.
  std::string other_function;
  std::size_t other_activation = 0;
  struct Leaf {
    std::size_t event = kNoEvent;
    std::string text;  // of what is no tensor
  };
  std::vector<Leaf> leaves;  // of tuples in order
};

// A tensor among the arguments of the run. Its caller sees what is written to it.
struct GivenTensor {
  std::string parameter;  // its name; `#2` where it has none
  std::size_t field = 0;  // of a tuple's leaves
  runtime::Value before;
  runtime::Value after;  // null: the run left it as it was
};

struct Trace {
  std::vector<Event> events;     // in the order they ended in
  std::vector<Handed> handed;    // of programs with a module, in order
  std::vector<Reading> results;  // the leaves of the result, in order; what is no tensor has no event
  runtime::Value result;         // a copy
  std::vector<GivenTensor> arguments;
  std::map<std::size_t, std::size_t> overwritten;  // the event of an argument: the last that was written to its memory
  std::string error;                               // the reason why it did not run to its end
  std::string error_function;                      // where
  const ir::Binding* error_binding = nullptr;
  std::string error_instruction;  // of an executable
  runtime::ErrorKind error_kind{};
  bool dims_misfit = false;   // it stopped at an operator whose dims do not fit
  bool results_only = false;  // of a run on the Relay VM, which does not report variables
  std::string incomplete;     // why events are missing; empty: none are
};

// Called by the evaluator as things happen; for an executable, repro/compare/executable.cc calls `..._named`.
class Recorder : public eval::Watcher {
 public:
  // Copies beyond this many bytes are not kept: the trace is incomplete from there on.
  explicit Recorder(std::size_t max_bytes);
  ~Recorder() override;
  void enter(std::string_view name, const ir::Function* f, runtime::PackedArgs args) override;
  void leave(const runtime::Value& result) override;
  void begin(const ir::Binding* b) override;
  runtime::Result<support::Unit> bound(const ir::Binding* b, const runtime::Value& value) override;
  void allocated(const runtime::Value& tensor) override;
  runtime::Result<support::Unit> calling(std::string_view name, const ir::PrimFunc* f,
                                         runtime::PackedArgs args) override;
  runtime::Result<support::Unit> called(std::string_view name, const ir::PrimFunc* f, runtime::PackedArgs args,
                                        const runtime::Value& result) override;
  void enter_named(std::string_view name, std::span<const std::string> parameters, runtime::PackedArgs args);
  void begin_named(std::string instruction);
  void bound_named(const std::string& variable, const runtime::Value& value);
  // The result is in these: the function was given tensors to write to.
  void results_are(runtime::PackedArgs outputs);
  Trace take();

 protected:
  // Memory to which nothing has been written yet: a tensor, also in a planned storage, or a storage.
  virtual void fresh(const runtime::Value& /*memory*/) {}
  // A call of something other than a kernel is over: it may have written to its arguments.
  virtual void called_packed(runtime::PackedArgs /*args*/, const runtime::Value& /*result*/) {}
  std::string name_of(const runtime::Tensor& tensor) const;  // empty: it has none

 private:
  void given(std::span<const std::string> parameters, runtime::PackedArgs args);
  struct State;
  std::unique_ptr<State> state_;
};

}  // namespace rldb::repro
