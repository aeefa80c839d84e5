// Applies passes one by one, and calls the instruments.
#include "rldb/pipeline/run.h"

#include <chrono>

namespace rldb::pipeline {

using support::Failure;

namespace {

source::Message naming(source::Message m, std::string_view pass) {
  m.text = "pass `" + std::string(pass) + "`: " + m.text;
  return m;
}

bool all_want(const Instruments& instruments, const Invocation& pass, ModuleRef module) {
  bool wanted = true;
  for (Instrument* i : instruments) wanted = i->wants(pass, module) && wanted;
  if (!wanted)
    for (Instrument* i : instruments) i->left_out(pass);
  return wanted;
}

Result<ModuleRef> run_one(Language& language, ModuleRef module, const Invocation& pass,
                          const Instruments& instruments) {
  using Clock = std::chrono::steady_clock;
  if (!all_want(instruments, pass, module)) return module;
  for (Instrument* i : instruments) i->before(pass, module);
  Record record{pass, module, {}, 0, {}};
  const Clock::time_point start = Clock::now();
  Result<ModuleRef> made = language.apply(pass, module);
  record.nanoseconds = std::uint64_t(std::chrono::nanoseconds(Clock::now() - start).count());
  if (!made.ok()) {
    source::Message why = naming(std::move(made).error(), pass.name());
    for (Instrument* i : instruments) i->failed(record, why);
    return Failure(std::move(why));
  }
  record.after = *made;
  if (record.after != module) record.changed = language.changed(module, record.after);
  for (Instrument* i : instruments) RLDB_TRY_VOID(i->after(record));
  return record.after;
}

}  // namespace

Result<ModuleRef> run(Language& language, ModuleRef module, const std::vector<Invocation>& passes,
                      const Instruments& instruments) {
  for (const Invocation& pass : passes) {
    RLDB_TRY(module, run_one(language, module, pass, instruments));
  }
  return module;
}

}  // namespace rldb::pipeline
