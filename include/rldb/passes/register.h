// Passes of a program that builds on rldb: run by name, listed and completed like the rows of pass.def.
#pragma once

#include "rldb/passes/pass.h"

namespace rldb::passes {

// PassInfo::run of a pass that takes its options as a struct (pipeline/option.h says what the struct needs, and
// `pipeline::options_of<Options>()` describes them).
template <class Options, auto Pass>
ir::Result<const ir::Module*> run_with(PassEnv& env, const ir::Module* module, const pipeline::Arguments& arguments) {
  return Pass(env, module, pipeline::read_options<Options>(arguments));
}

// The texts are not copied, so they must live as long as the program; `id` is filled in. A name that is taken
// fails a CHECK, and so does the hundredth pass. Not thread-safe.
const PassInfo& register_pass(PassInfo pass);
template <auto Pass, class Options = NoOptions>
const PassInfo& register_pass(std::string_view name, PassKind kind, std::string_view doc) {
  return register_pass({{name, {}, pipeline::options_of<Options>(), doc}, {}, kind, &run_with<Options, Pass>});
}

}  // namespace rldb::passes
