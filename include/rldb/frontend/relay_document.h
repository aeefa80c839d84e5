// RelayDocument: a Relay text that is being edited, and its module at each moment (document.h is that of TVMScript).
//
// An edit within functions is parsed through tree-sitter's edit interface, and only the statements that it affects are
// read again; others keep their nodes, so that a typing of the module can keep their types (relay::TypingMemo). After
// edits of types, metadata or the version, and in texts with free variables or with names of the prelude, the whole
// text is read, in a new Context. In every case, module and diagnostics are those of a fresh reading
// (parse_relay_program). Users: protocol (the language server), session.
#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <string_view>

#include "rldb/frontend/document.h"
#include "rldb/frontend/relay.h"
#include "rldb/frontend/text_index.h"

namespace rldb::frontend {

class RelayDocument {
 public:
  // `sources` outlives the document and owns its text.
  RelayDocument(source::SourceManager& sources, std::string name, std::string text);
  ~RelayDocument();
  RelayDocument(const RelayDocument&) = delete;
  RelayDocument& operator=(const RelayDocument&) = delete;

  // Replaces bytes [begin, end) by `text`. False, and nothing changes, when the range is not in the text or splits a
  // character.
  bool edit(std::uint32_t begin, std::uint32_t end, std::string_view text);
  // Makes the text this one, by the edits that `edits_between` finds: `last_read` is of all of them.
  void update(std::string_view text);

  source::FileId file() const;
  std::string_view text() const;
  const RelayResult& result() const;
  // Of the reading: the module is not typed.
  const source::Diagnostics& diagnostics() const;
  // Of the module; another one after each whole reading.
  std::shared_ptr<relay::Context> context() const;
  TextIndex index() const;
  ReadScope last_read() const;

 private:
  struct State;
  std::unique_ptr<State> state_;
};

}  // namespace rldb::frontend
