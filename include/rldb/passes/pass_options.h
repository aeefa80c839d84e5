// The options of each pass as a struct, made from pass_option.def. Users: the passes that have options.
#pragma once

#include "rldb/pipeline/option.h"

namespace rldb::passes {

using pipeline::NoOptions;

#define RLDB_PASS_OPTIONS(Pass) struct Pass##Options {
#define RLDB_PASS_OPTION(Pass, name, Type, fallback, doc) pipeline::option::Type name = fallback;
// clang-format off
#define RLDB_PASS_OPTIONS_END(Pass) };
// clang-format on
#include "rldb/passes/pass_option.def"

#define RLDB_PASS_OPTIONS(Pass) \
  template <class F>            \
  void each_option(Pass##Options& options, const F& f) {
#define RLDB_PASS_OPTION(Pass, name, Type, fallback, doc) f(#name, options.name, doc);
#define RLDB_PASS_OPTIONS_END(Pass) }
#include "rldb/passes/pass_option.def"

}  // namespace rldb::passes
