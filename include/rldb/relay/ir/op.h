// Facts about Relay's operators: names, operands, attributes, patterns for fusion. The typing of calls is in
// relay/ops.
#pragma once

#include <cstdint>
#include <optional>
#include <string_view>
#include <vector>

namespace rldb::relay {

enum class AttributesId : std::uint8_t;  // op_id.h

enum class FieldKind : std::uint8_t { Int, Bool, Float, String, DType, Dim, Dims, Nested, Any };
std::string_view to_string(FieldKind kind);  // for messages: "an integer"

struct AttrField {
  std::string_view name;
  FieldKind kind;
  std::optional<std::string_view> fallback;  // as printed; none: the attribute is required
  bool always = false;                       // printed even when it is the fallback
};

struct AttributesInfo {
  std::string_view type_key;      // "relay.attrs.Conv2DAttrs"; empty: takes none, or any
  bool takes_any;                 // Free
  std::vector<AttrField> fields;  // in TVM's order
};
const AttributesInfo& info(AttributesId id);

enum class FusePattern : std::uint8_t { Elementwise, Broadcast, Injective, Reduce, Complex, Opaque };

// The role of an operator for the compiler of the Relay VM.
enum class OpRole : std::uint8_t {
  Plain,        // computed by a kernel
  Reshape,      // the first operand's elements under another shape
  Alias,        // its operand: it specifies the operand's device, or what may be fused with it
  Values,       // its result has dims that depend on the values of operands
  Instruction,  // an instruction of the machine: reads registers, and is no kernel
  Effect,       // the machine's too: it writes, and returns ()
};

enum class OpId : std::uint16_t;  // op_id.h

struct OpInfo {
  OpId id;
  std::string_view name;
  int operands;  // -1: any number
  AttributesId attributes;
  FusePattern pattern;
  OpRole role;
};
const OpInfo& info(OpId id);
const OpInfo* find_op(std::string_view name);  // null: none
std::vector<std::string_view> op_names();

}  // namespace rldb::relay
