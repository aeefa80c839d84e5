// Error: why a program stopped by itself (a violated shape, a failed assert, a bad argument, no memory).
//
// Data, not just text: tools query the kind; the fields name the symbol that a shape violation is about, so that
// the debugger can point at the slot. The machine adds where it happened (vm::Fault); rendering is left to the ui.
#pragma once

#include <cstdint>
#include <string>
#include <utility>
#include <vector>

#include "rldb/support/result.h"

namespace rldb::runtime {

enum class ErrorKind : std::uint8_t {
  TypeMismatch,   // a value of the wrong kind, rank, dtype
  ShapeMismatch,  // a dimension contradicts a constant or a symbol
  ArgumentCount,
  UnknownFunction,
  AssertFailed,
  OutOfMemory,    // over the stated limit
  OutOfBounds,    // checked kernel access
  Unsupported,    // named in the text
  BadFile,        // tensor files, executables
  Interrupted,    // ^C or a time-out
  StackOverflow,  // frames over the stated limit
  TooLong,        // statements over the stated limit
  Raised,         // a packed function reported failure
};

struct Error {
  ErrorKind kind = ErrorKind::Raised;
  std::string message;
  std::vector<std::string> notes;
};

template <class T>
using Result = support::Result<T, Error>;

inline support::Failure<Error> fail(ErrorKind kind, std::string message) {
  return support::Failure<Error>(Error{kind, std::move(message), {}});
}

}  // namespace rldb::runtime
