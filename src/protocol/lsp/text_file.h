// TextFile: one text that the client has open, with what is known about it at each moment.
//
// TVMScript is read by a frontend::Document, Relay text (relay_file.h) by a frontend::RelayDocument, so that an edit
// costs what it touches. In a file of Python, only modules and decorated functions are looked at: everything else
// belongs to another server. Users: the methods of Server.
#pragma once

#include <cstdint>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "protocol/lsp/types.h"
#include "rldb/frontend/document.h"

namespace rldb::protocol::lsp {

class RelayFile;

// The values that the last run of `rldb.run` gave, as text.
struct LastRun {
  std::string function;
  struct NamedValue {
    std::string name;
    std::uint32_t at;  // of the binding or parameter; follows the text
    std::string value;
  };
  std::vector<NamedValue> values;                           // in the order in which they were bound
  std::map<std::string, std::string, std::less<>> symbols;  // symbolic variables
  std::string result;
  bool was_edited = false;  // the text, since then
};

// A diagnostic of the pipeline that the text or the client names; `at` follows the text.
struct PipelineFinding {
  source::Diagnostic diagnostic;  // without places
  frontend::TextRange at;
};

class TextFile {
 public:
  enum class Language : std::uint8_t { Python, TvmScript, Relay };

  TextFile(std::string uri, std::string_view language_id, std::int64_t version, std::string text);
  ~TextFile();
  TextFile(const TextFile&) = delete;
  TextFile& operator=(const TextFile&) = delete;

  const std::string& uri() const { return uri_; }
  Language language() const { return language_; }
  bool is_relay() const { return language_ == Language::Relay; }
  std::int64_t version = 0;
  std::string_view text() const { return buffer().text(); }
  const source::Buffer& buffer() const;
  source::FileId file() const;

  // Changes. False: the range is none of the text.
  bool edit(source::LineColumn begin, source::LineColumn end, std::string_view text, source::ColumnUnit unit);
  void replace(std::string text);
  // Counts changes; results are remembered by it.
  std::uint64_t generation() const { return generation_; }

  const frontend::Document* document() const { return document_.get(); }  // null: Relay
  RelayFile* relay() const { return relay_.get(); }                       // null: TVMScript
  // Of the present text.
  const frontend::TextIndex& index();
  // Of some recent text, if that is quicker; `offset` is moved to where the place was there.
  const frontend::TextIndex& recent_index(std::uint32_t& offset);
  bool index_is_fresh() const;
  Types& types();
  // Of the text, without those outside of TVMScript; for Relay all.
  std::vector<source::Diagnostic> diagnostics();
  // Whether an answer is due there.
  bool is_script(std::uint32_t offset);

  // ---- what others keep with the text ----
  struct Pipeline {
    std::optional<std::uint64_t> generation;  // of the text that it ran on
    std::string text;                         // that ran
    std::vector<PipelineFinding> findings;
  } pipeline;
  struct Published {
    std::optional<std::uint64_t> generation;
    std::optional<std::uint64_t> pipeline;
  } published;
  struct Tokens {
    std::uint64_t id = 0;
    std::vector<std::uint32_t> data;
  } tokens;
  std::optional<LastRun> last_run;

 private:
  void changed(const frontend::TextEdit& edit);
  void refresh_regions();

  std::string uri_;
  Language language_;
  source::SourceManager sources_;
  std::unique_ptr<frontend::Document> document_;
  std::unique_ptr<RelayFile> relay_;
  std::uint64_t generation_ = 0;
  frontend::TextIndex index_;
  std::optional<std::uint64_t> index_generation_;
  std::vector<frontend::TextEdit> since_index_;  // changes after that
  std::vector<frontend::TextRange> regions_;     // of TVMScript; they follow changes until they are found anew
  Types types_;
};

}  // namespace rldb::protocol::lsp
