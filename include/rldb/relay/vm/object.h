// Objects of the Relay VM over runtime values: tensors and storage blocks are represented as everywhere; a tuple is a
// runtime tuple, a value of a data type is a tuple that knows its tag; a closure is a function with captured values,
// which precede the arguments.
#pragma once

#include <map>
#include <memory>
#include <string>

#include "rldb/relay/vm/executable.h"
#include "rldb/runtime/described.h"

namespace rldb::relay_vm {

using runtime::Value;

// Constructors by tag, for displaying values.
using Constructors = std::map<std::int64_t, relay_bytecode::ConstructorName>;

class Adt : public runtime::Tuple, public runtime::Described {
 public:
  Adt(std::int32_t tag, std::vector<Value> fields, std::shared_ptr<const Constructors> constructors)
      : Tuple(std::move(fields)), tag(tag), constructors(std::move(constructors)) {}
  ~Adt() override;                                            // not recursive, not even through closures
  std::string description(std::size_t width) const override;  // of a tuple: none
  std::int32_t tag;
  std::shared_ptr<const Constructors> constructors;  // of the program that made it; null: not known
};

class Closure : public runtime::Function {
 public:
  Closure(std::string name, int function, std::vector<Value> values);
  ~Closure() override;
};

// Tag 0 is that of tuples.
Value make_adt(std::int32_t tag, std::vector<Value> fields, std::shared_ptr<const Constructors> constructors = nullptr);
// Of a tuple (0) or a value of a data type; nullopt for other values.
std::optional<std::int32_t> tag_of(const Value& v);

// The tag that TVM gives a constructor: the low byte of libstdc++'s hash of the type's name, and its position.
std::int32_t constructor_tag(std::string_view type_name, std::uint32_t index);

// `(1, Cons(2, Nil))`, lists as `[1, 2]`; a tag whose constructor is not known is written as in TVM: `ADT(tag, 1)`.
std::string to_text(const Value& v, const relay_bytecode::Executable* exe = nullptr);

}  // namespace rldb::relay_vm
