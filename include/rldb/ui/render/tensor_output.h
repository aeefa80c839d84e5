// Values as tensor files, as written by `run --output` and `:save-value`.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "rldb/runtime/value.h"
#include "rldb/source/diagnostic.h"

namespace rldb::ui {

// The tensors of a value in order, tuples flattened; scalars and shapes become tensors. False: `why` says what cannot.
bool flatten_tensors(const runtime::Value& v, std::vector<runtime::Value>& out, std::string& why);
// The bytes of an .npy or .npz, by the end of the name; an .npz names its tensors out0, out1, ...
std::optional<std::string> tensor_file(const std::string& path, const std::vector<runtime::Value>& tensors,
                                       source::Diagnostics& out);

}  // namespace rldb::ui
