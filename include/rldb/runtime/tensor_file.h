// Tensor files and tensor literals: .npy, .npz, .safetensors, and `2x3xf32=...` (docs/formats.md).
//
// Readers trust nothing: sizes are checked against the file before memory is allocated. Formats are told by the
// magic bytes, never guessed. bfloat16 is read from and written to npy as uint16 only when the caller requests
// bfloat16 (`expected`); safetensors have it natively.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "rldb/runtime/value.h"

namespace rldb::runtime {

Result<Value> read_npy(std::string_view bytes, std::string_view name);
using NamedTensors = std::vector<std::pair<std::string, Value>>;
// Stored and deflated members.
Result<NamedTensors> read_npz(std::string_view bytes, std::string_view name);
Result<NamedTensors> read_safetensors(std::string_view bytes, std::string_view name);
std::string write_npy(const Tensor& tensor);
std::string write_npz(const NamedTensors& tensors);

// `@x.npy`, `@x.npz:name`, `@x.safetensors:name` (the text after `@`).
Result<Value> load_tensor(std::string_view path_and_member);

// `2x3xf32=1,2,3,4,5,6`, `2x2xf32=[[1, 2], [3, 4]]`, `2x3xf32=rand(seed=1)`, `zeros`, `ones`, `arange`, `f32=1.5`
// (0-d), `@file`, a bare int `7`, `shape(2,3)`, and tuples `(a; b)`.
Result<Value> parse_value_literal(std::string_view text);
// `[[1, 2], [3, 4]]` as Python or NumPy writes it (commas or blanks), at a given dtype; the shape is the brackets'.
Result<Value> parse_list(std::string_view text, DType dtype);
// The same as nested tuples of integers, floats and booleans; an error when there is anything else in the list.
Result<Value> parse_plain_list(std::string_view text);
// `7`, `-2.5`, `1_000`, `True`, `inf`.
bool is_number_text(std::string_view text);
// Uniform in [-1, 1) for floats, [0, 10) for ints, from a seeded generator; the same on every machine.
Result<Value> random_tensor(std::vector<std::int64_t> shape, DType dtype, std::uint64_t seed);

// Reinterprets an array that a file stored as uint16/uint8 as the requested narrow float, when sizes agree.
Result<Value> reinterpret_as(const Value& tensor, DType dtype);

}  // namespace rldb::runtime
