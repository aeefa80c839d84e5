// Memory plans as text, JSON and SVG. User: `:mem`, `rldb opt --memory-report`.
#pragma once

#include <functional>
#include <string>
#include <string_view>
#include <vector>

#include "rldb/passes/memory_report.h"
#include "rldb/session/session.h"

namespace rldb::ui {

// The line of the user's text that an allocation came from; 0: none.
using LineOf = std::function<std::uint32_t(const passes::MemoryTensor&)>;

struct MemoryView {
  int width = 80;  // columns of the text, including the chart
  LineOf line_of;
};

std::string memory_text(const std::vector<passes::FunctionMemory>& functions, const MemoryView& view);
// One tensor, and for every other one the reason why they do not share storage.
std::string sharing_text(const passes::FunctionMemory& memory, std::size_t tensor, const MemoryView& view);
std::string sharing_json(const passes::FunctionMemory& memory, std::size_t tensor, const MemoryView& view);
std::string memory_json(const std::vector<passes::FunctionMemory>& functions, const MemoryView& view);
// A self-contained picture.
std::string memory_svg(const std::vector<passes::FunctionMemory>& functions, const MemoryView& view);

enum class MemoryFormat : std::uint8_t { Text, Json, Svg };
// From the end of a file's name: .json, .svg; text otherwise.
MemoryFormat memory_format(std::string_view path);
std::string render_memory(const std::vector<passes::FunctionMemory>& functions, MemoryFormat format,
                          const MemoryView& view);

// How the session's program is shown, with its lines.
MemoryView memory_view(const session::Session& session, int width);

std::string bytes_text(const passes::MemorySize& size);

}  // namespace rldb::ui
