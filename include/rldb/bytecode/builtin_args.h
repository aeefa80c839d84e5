// Reading the arguments of builtins: a wrong kind is an error that names the builtin and the argument.
// Users: the machine's builtins, and the evaluator's for lowered programs.
#pragma once

#include <fmt/format.h>

#include <string>
#include <string_view>
#include <vector>

#include "rldb/bytecode/builtin.h"
#include "rldb/runtime/packed.h"

namespace rldb::bytecode {

using runtime::DType;
using runtime::ErrorKind;
using runtime::PackedArgs;
using runtime::Result;
using runtime::Value;
using runtime::ValueKind;

// Checks the count against the row's limits, then gives typed access by position.
class BuiltinArgs {
 public:
  BuiltinArgs(BuiltinId id, PackedArgs args) : row_(bytecode::info(id)), args_(args) {}

  bool count_fits() const {
    return int(args_.size()) >= row_.min_args && (row_.max_args < 0 || int(args_.size()) <= row_.max_args);
  }
  support::Failure<runtime::Error> wrong_count() const {
    return runtime::fail(ErrorKind::ArgumentCount,
                         fmt::format("{} takes ({}) but {} given", row_.name, row_.arguments, args_.size()));
  }

  std::size_t size() const { return args_.size(); }
  const Value& operator[](std::size_t i) const { return args_[i]; }
  PackedArgs from(std::size_t i) const { return args_.subspan(i); }

  Result<std::int64_t> integer(std::size_t i) const {
    if (args_[i].is(ValueKind::Int) || args_[i].is(ValueKind::Bool)) return args_[i].as_int();
    return wrong(i, "an integer");
  }
  Result<runtime::Tensor*> tensor(std::size_t i) const {
    if (args_[i].is(ValueKind::Tensor)) return &args_[i].as_tensor();
    return wrong(i, "a Tensor");
  }
  Result<const std::vector<std::int64_t>*> shape(std::size_t i) const {
    if (args_[i].is(ValueKind::Shape)) return &args_[i].as_shape();
    return wrong(i, "a Shape");
  }
  Result<DType> dtype(std::size_t i) const {
    if (args_[i].is(ValueKind::DType)) return args_[i].as_dtype();
    if (args_[i].is(ValueKind::String)) {
      if (auto t = runtime::parse_dtype(args_[i].as_string())) return *t;
    }
    return wrong(i, "a dtype");
  }
  Result<runtime::Tuple*> tuple(std::size_t i) const {
    if (args_[i].is(ValueKind::Tuple)) return &args_[i].as_tuple();
    return wrong(i, "a Tuple");
  }
  Result<runtime::Function*> function(std::size_t i) const {
    if (args_[i].is(ValueKind::Function)) return &args_[i].as_function();
    return wrong(i, "a Function");
  }
  // Text of an argument that is a string or null.
  std::string text(std::size_t i) const {
    return args_[i].is(ValueKind::String) ? args_[i].as_string() : std::string();
  }

  support::Failure<runtime::Error> wrong(std::size_t i, std::string_view wanted) const {
    return runtime::fail(ErrorKind::TypeMismatch,
                         fmt::format("{}: argument {} must be {} but is {}", row_.name, i, wanted, describe(args_[i])));
  }
  support::Failure<runtime::Error> fail(ErrorKind kind, std::string text) const {
    return runtime::fail(kind, fmt::format("{}: {}", row_.name, text));
  }

 private:
  const BuiltinInfo& row_;
  PackedArgs args_;
};

}  // namespace rldb::bytecode
