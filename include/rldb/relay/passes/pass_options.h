// The options of each of Relay's passes as a struct, made from pass_option.def. Users: the passes, session.
#pragma once

#include "rldb/pipeline/option.h"

namespace rldb::relay {

using pipeline::NoOptions;

#define RLDB_PASS_OPTIONS(Pass) struct Pass##Options {
#define RLDB_PASS_OPTION(Pass, name, Type, fallback, doc) pipeline::option::Type name = fallback;
// clang-format off
#define RLDB_PASS_OPTIONS_END(Pass) };
// clang-format on
#include "rldb/relay/passes/pass_option.def"

#define RLDB_PASS_OPTIONS(Pass) \
  template <class F>            \
  void each_option(Pass##Options& options, const F& f) {
#define RLDB_PASS_OPTION(Pass, name, Type, fallback, doc) f(#name, options.name, doc);
#define RLDB_PASS_OPTIONS_END(Pass) }
#include "rldb/relay/passes/pass_option.def"

}  // namespace rldb::relay
