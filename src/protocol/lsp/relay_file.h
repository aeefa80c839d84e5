// RelayFile: Relay text that is open, read by a frontend::RelayDocument and typed: an edit costs what it touches.
#pragma once

#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "rldb/frontend/text_index.h"
#include "rldb/source/buffer.h"
#include "rldb/source/diagnostic.h"

namespace rldb::protocol::lsp {

class RelayFile {
 public:
  RelayFile(std::string name, std::string text);
  ~RelayFile();
  RelayFile(const RelayFile&) = delete;
  RelayFile& operator=(const RelayFile&) = delete;

  // False: the range is none of the text.
  bool edit(std::uint32_t begin, std::uint32_t end, std::string_view text);
  void replace(std::string_view text);
  const source::Buffer& buffer() const;
  source::FileId file() const;
  const source::Diagnostics& diagnostics() const;
  frontend::TextIndex index() const;
  // The type of the innermost expression there, or of the one with exactly that text; empty: not known.
  std::string type_around(std::uint32_t offset) const;
  std::string type_at(frontend::TextRange exactly) const;
  // `(%x: Tensor[(4), float32]) -> Tensor[(4), float32]`; empty: no such function.
  std::string signature_of(std::string_view function) const;

 private:
  struct State;
  std::unique_ptr<State> state_;
};

// `nn.dense`: its operands and attributes; empty: no operator.
std::string relay_operator_text(std::string_view name);

}  // namespace rldb::protocol::lsp
