// TVM's binary layout of one tensor (`NDArray::Save`, `Tensor::Save`): magic, a reserved word, device, rank, dtype,
// dims, byte count, data, all little-endian. Executables of both machines and the metadata of texts hold tensors in it.
#pragma once

#include <optional>

#include "rldb/runtime/value.h"
#include "rldb/support/bytes.h"

namespace rldb::runtime {

// TVM wrote bool as an unsigned integer of one bit until DLPack got a code for it. Both are read.
enum class BoolCode { Own, OneBit };

void write_dtype(support::ByteWriter& out, DType dtype, BoolCode bools = BoolCode::Own);
// Void, and a failed reader, for an unknown dtype.
DType read_dtype(support::ByteReader& in);

void write_tensor(support::ByteWriter& out, const Tensor& tensor, BoolCode bools = BoolCode::Own);
// nullopt, and a failed reader, if this is not a tensor.
std::optional<Ref<Tensor>> read_tensor(support::ByteReader& in);

}  // namespace rldb::runtime
