// The two errors that builtins and packed functions report about their arguments.
#pragma once

#include <string>
#include <utility>

#include "rldb/runtime/error.h"

namespace rldb::runtime {

inline support::Failure<Error> mismatch(std::string text) { return fail(ErrorKind::TypeMismatch, std::move(text)); }
inline support::Failure<Error> unsupported(std::string text) { return fail(ErrorKind::Unsupported, std::move(text)); }

}  // namespace rldb::runtime
