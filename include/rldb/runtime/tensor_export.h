// Tensor files for readers outside: bfloat16 and float8 keep their dtypes. In .npy and .npz they have ml_dtypes' names
// (`'descr': 'bfloat16'`), which NumPy reads after `import ml_dtypes`, and so does `read_npy`; .safetensors have types
// of their own for the usual ones. Users: `--output`, `:save-value`.
#pragma once

#include "rldb/runtime/tensor_file.h"

namespace rldb::runtime {

std::string export_npy(const Tensor& tensor);
std::string export_npz(const NamedTensors& tensors);
// Error: Unsupported, the format has no name for a dtype. Vectors have their lanes as a last axis.
Result<std::string> write_safetensors(const NamedTensors& tensors);

}  // namespace rldb::runtime
