// Runs pipelines of passes over modules of any language; a stack of instruments observes each pass, and may leave it
// out or refuse its result. The runner itself only applies, measures and compares.
//
// Users: the rooms of passes (each has a Language), session, repro, ui.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "rldb/pipeline/pass.h"

namespace rldb::pipeline {

// A module that only its language looks into: immutable, and alive as long as the context that it was made in.
class ModuleRef {
 public:
  ModuleRef() = default;
  template <class Module>
  ModuleRef(const Module* module) : module_(module) {}
  // Of the type that it was made from.
  template <class Module>
  const Module* as() const {
    return static_cast<const Module*>(module_);
  }
  explicit operator bool() const { return module_ != nullptr; }
  friend bool operator==(ModuleRef, ModuleRef) = default;

 private:
  const void* module_ = nullptr;
};

// The passes of a language, applied to its modules.
class Language {
 public:
  virtual ~Language() = default;
  // A failure does not name the pass.
  virtual Result<ModuleRef> apply(const Invocation& pass, ModuleRef module) = 0;
  // The names of functions added, removed or changed.
  virtual std::vector<std::string> changed(ModuleRef before, ModuleRef after) const = 0;
};

// The record of one application.
struct Record {
  Invocation pass;
  ModuleRef before;
  ModuleRef after;  // null: it failed
  std::uint64_t nanoseconds = 0;
  std::vector<std::string> changed;
};

// Hooks around each pass, called in the order of the stack.
class Instrument {
 public:
  virtual ~Instrument() = default;
  // False: the pass is left out. All are asked.
  virtual bool wants(const Invocation&, ModuleRef) { return true; }
  virtual void left_out(const Invocation&) {}
  virtual void before(const Invocation&, ModuleRef) {}
  // A failure ends the pipeline; the instruments further down are not asked.
  virtual Result<support::Unit> after(const Record&) { return support::Unit{}; }
  virtual void failed(const Record&, const source::Message&) {}
};
using Instruments = std::vector<Instrument*>;

// In order, up to the first failure, which names the pass.
Result<ModuleRef> run(Language& language, ModuleRef module, const std::vector<Invocation>& passes,
                      const Instruments& instruments);

}  // namespace rldb::pipeline
