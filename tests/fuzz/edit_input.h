// Edits of a text as bytes: two for the place, one for the number of bytes to remove, one for the insertion (a piece
// of syntax by number, or that many bytes of the input). Before them may be the text to start from, of any kind, and
// kBehindText; else it is the module of the tests. Used by the fuzz target and the test of its findings.
#pragma once

#include "frontend/document_check.h"

namespace rldb::fuzz {

inline constexpr int kMaxEdits = 24;
inline constexpr std::string_view kBehindText("\0edits\0", 7);
inline constexpr std::size_t kMaxText = 12 << 10;
inline constexpr std::string_view kPieces[] = {
    "(",
    ")",
    "[",
    "]",
    "{",
    ",",
    ":",
    "=",
    "\n",
    "    ",
    "        ",
    "\t",
    "\"",
    "'",
    "\"\"\"",
    "#",
    "\\",
    "x",
    "lv",
    "n",
    "R.",
    "T.",
    "R.add(x, x)",
    "return x",
    "if c:",
    "else:",
    "R.output(",
    "R.dataflow()",
    "with ",
    "def f():",
    "@R.function",
    "n = T.int64()\n",
    "float16",
    "\xc3\xa9",
    "\xf0\x9f\x90\x88",
    "y = x\n",
    "pass\n",
    "None",
    "class A:",
    "import ",
};

class Input {
 public:
  Input(const std::uint8_t* data, std::size_t size) : data_(data), size_(size) {}
  bool empty() const { return at_ >= size_; }
  std::uint32_t byte() { return empty() ? 0 : data_[at_++]; }
  std::string bytes(std::size_t n) {
    std::string out;
    while (n-- > 0 && !empty()) out += static_cast<char>(byte());
    return out;
  }

 private:
  const std::uint8_t* data_;
  std::size_t size_;
  std::size_t at_ = 0;
};

// Empty, or how the document differs from a fresh parse of its text.
inline std::string apply_edits(const std::uint8_t* data, std::size_t size) {
  const std::string_view bytes(reinterpret_cast<const char*>(data), size);
  const std::size_t behind = bytes.find(kBehindText);
  std::string start(behind == bytes.npos ? frontend::testing::kModule : bytes.substr(0, std::min(behind, kMaxText)));
  const std::size_t skipped = behind == bytes.npos ? 0 : behind + kBehindText.size();
  Input input(data + skipped, size - skipped);
  source::SourceManager sources;
  frontend::Document document(sources, "test.py", std::move(start));
  for (int i = 0; i < kMaxEdits && !input.empty(); ++i) {
    const auto length = static_cast<std::uint32_t>(document.text().size());
    const std::uint32_t begin = (input.byte() | input.byte() << 8U) % (length + 1);
    const std::uint32_t end = std::min(begin + input.byte() % 64, length);
    const std::uint32_t what = input.byte();
    const std::string text = what < std::size(kPieces) ? std::string(kPieces[what]) : input.bytes(what % 16);
    if (!document.edit(begin, end, text)) continue;
    if (const std::string found = frontend::testing::difference(document, sources); !found.empty())
      return found + "\n---- the text:\n" + std::string(document.text());
  }
  return {};
}

}  // namespace rldb::fuzz
