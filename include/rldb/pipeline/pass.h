// Passes by name, and pipelines of them as text: `LegalizeOps,FuseOps(max_depth=4),DeadCodeElimination([main])`, or a
// named pipeline. The same for every language: a PassTable says which passes it has.
//
// Python's call syntax is accepted too (`relax.transform.FuseOps(1)`, `Sequential([A, B])`, `get_pipeline("zero")`),
// and braces around options. Options are checked here, so that a pass never sees one that it does not have or of
// another type. Users: the rooms of passes, session, help.
#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "rldb/pipeline/option.h"
#include "rldb/source/diagnostic.h"
#include "rldb/support/result.h"

namespace rldb::pipeline {

template <class T>
using Result = support::Result<T, source::Message>;

struct PassRow {
  std::string_view name;
  std::string_view short_name;  // empty: it has none
  std::span<const OptionInfo> options;
  std::string_view doc;
};

struct NamedPipeline {
  std::string_view name;
  std::string_view passes;
  std::string_view doc;
};

class PassTable {
 public:
  virtual ~PassTable() = default;
  virtual std::vector<const PassRow*> passes() const = 0;
  // By the name, the short name or an old one; null: there is none.
  virtual const PassRow* find(std::string_view name) const = 0;
  virtual std::span<const NamedPipeline> pipelines() const = 0;
  // Why TVM has a pass of the name and rldb does not; empty: TVM has none either.
  virtual std::string_view absence_of(std::string_view) const { return {}; }
  // The value of an option, by the grammar of modules.
  virtual WrittenValue read_value(std::string_view text) const = 0;
};

struct Invocation {
  const PassRow* pass = nullptr;
  Arguments arguments;
  std::string_view name() const { return pass->name; }
};
std::string to_string(const Invocation& p);  // as it was written
std::string to_string(const std::vector<Invocation>& passes);

// A mistake in a text, at bytes [begin, end).
struct Fault {
  source::Message message;
  std::uint32_t begin = 0;
  std::uint32_t end = 0;
};
support::Result<std::vector<Invocation>, Fault> parse(const PassTable& table, std::string_view text);
// nullopt: diagnosed, with the place in the text, which becomes a source.
std::optional<std::vector<Invocation>> parse(const PassTable& table, std::string_view text,
                                             source::SourceManager& sources, source::Diagnostics& out);

}  // namespace rldb::pipeline
