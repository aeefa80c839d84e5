// The functions that a recorded run calls, here: kernels, builtins and packed functions, each as a Relax function of
// one module that passes its parameters on. Room-private.
#pragma once

#include <map>
#include <set>
#include <string>
#include <vector>

#include "rldb/session/session.h"

namespace rldb::repro {

// A function as the record calls it.
struct RecordedName {
  std::string name;
  std::size_t args = 0;
  bool takes_machine = false;  // its first argument was the machine; `args` does not count it
  friend auto operator<=>(const RecordedName&, const RecordedName&) = default;
};

enum class CalleeKind : std::uint8_t {
  Kernel,
  Builtin,
  Packed,
  Relax,    // a function of the program, with the calls that it makes
  Function  // one for another code generator
};

struct Callee {
  CalleeKind kind{};
  std::string function;                // of the module
  std::string kernel;                  // its PrimFunc, if it is a kernel
  const ir::Module* module = nullptr;  // null: it cannot be built, `why`
  std::string why;
};

class Callees {
 public:
  Callees(session::Session& session, const ir::Module* kernels, const std::set<RecordedName>& names);
  // Null: there is none of this name.
  const Callee* find(const RecordedName& name) const;
  // Kernels whose names differ from this one only in the number at their end.
  std::vector<std::pair<std::string, const Callee*>> namesakes(const RecordedName& name) const;

 private:
  void add(const RecordedName& name);
  void build();
  bool builds(const ir::Module* module, std::string& why);
  const ir::Function* passing_on(const ir::Expr* callee, const RecordedName& name);
  const ir::Module* only(const std::string& function) const;

  session::Session& session_;
  const ir::Module* kernels_;
  std::map<std::string, std::string, std::less<>> by_symbol_;  // names of PrimFuncs by their global_symbol
  std::map<RecordedName, Callee> callees_;
  const ir::Module* all_ = nullptr;
};

// How many of these names are kernels of the module.
std::size_t kernels_found(const ir::Module* module, const std::set<RecordedName>& names);
// The module, or the result of one of rldb's pipelines on it, that has most of these kernels; `made_by`: the pipeline.
const ir::Module* module_with_kernels(session::Session& session, const ir::Module* module,
                                      const std::set<RecordedName>& names, bool lower, std::string& made_by);

}  // namespace rldb::repro
