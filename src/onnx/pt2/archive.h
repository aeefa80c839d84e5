// Archives of PyTorch: torch.export.save writes a program as JSON and its weights into a zip file. Inside the room
// only.
#pragma once

#include "rldb/onnx/model.h"

namespace rldb::onnx {

// A zip file: no other program begins like that.
bool is_archive(std::string_view path, std::string_view bytes);

// Null: diagnosed.
ModelRef read_archive(std::string_view path, std::string_view bytes, source::Diagnostics& out);

}  // namespace rldb::onnx
