// Relay text as a session's program: its versions are Relay modules, and its code runs on the Relay VM.
//
// Everything that any kind of program can do is in session/program.h; this is for those that work on Relay modules
// (repro/relay_passes.h, `rldb opt`). With Options::machine Relax, Relay text is translated when it is loaded, and is
// no program of this kind.
#pragma once

#include "rldb/relay/ir/text_names.h"
#include "rldb/relay/ops/infer.h"
#include "rldb/session/options.h"
#include "rldb/session/program.h"

namespace rldb::session {

// The text and what its versions share. Immutable, except that passes make nodes and add their names.
struct RelaySource {
  relay::Context ctx;
  source::FileId file;
  relay::Typing typing;  // of version 0; a text that is a lone expression is not typed, as in TVM
  relay::TextNames names;
};

// Functions that only one of the two has, or that differ between them.
std::vector<std::string> changed_functions(const relay::Module* before, const relay::Module* after);

class RelayText final : public Program {
 public:
  // Null: diagnosed.
  static std::unique_ptr<RelayText> read(Session& session, std::string path, std::string text, Diagnostics& out);

  RelaySource& source() const { return *source_; }
  const relay::Module* module() const { return versions_[position_].module; }
  const relay::Module* module_at(std::size_t version) const { return versions_[version].module; }
  void set_module(const relay::Module* module);  // a version made by hand

  ProgramKind kind() const override { return ProgramKind::RelayText; }
  std::unique_ptr<Program> copy() const override;
  bool verify(Diagnostics& out) const;
  std::vector<std::string> function_names() const override;
  std::optional<std::vector<Parameter>> parameters(std::string_view function, std::string& not_runnable) override;
  runtime::Result<runtime::Value> as_argument(runtime::Value given, const Parameter& p) const override;
  std::size_t version_count() const override { return versions_.size(); }
  std::size_t position() const override { return position_; }
  Version version(std::size_t v) const override { return versions_[v]; }
  const Bookmarks& bookmarks() const override { return bookmarks_; }
  bool is_same(std::size_t a, std::size_t b) const override { return versions_[a].module == versions_[b].module; }
  std::vector<std::string> changed(std::size_t a, std::size_t b) const override;
  std::optional<std::string> text(std::size_t v, TextFor purpose, std::string_view function) const override;
  bool go_to(std::size_t version) override;
  void add_bookmark(std::string name) override { bookmarks_.emplace_back(std::move(name), position_); }
  bool run_passes(std::string_view pipeline, Diagnostics& out, const PassObserver& before) override;
  std::vector<PassRow> passes() const override;
  std::vector<PipelineRow> pipelines() const override;
  std::shared_ptr<const Build> runnable(Diagnostics& out) override;
  std::shared_ptr<const Build> viewable(Diagnostics& out) override { return runnable(out); }
  std::optional<std::string> executable_file(Diagnostics& out, const bytecode::DebugInfo* names) override;
  std::string listing(const Build& build) const override;

 protected:
  std::vector<std::string> minimum() const override;

 private:
  struct RelayVersion : Version {
    const relay::Module* module = nullptr;
  };
  RelayText(Session& session, std::string path) : Program(session, std::move(path)) {}
  void push(RelayVersion version);

  std::shared_ptr<RelaySource> source_;
  std::vector<RelayVersion> versions_;
  std::size_t position_ = 0;
  Bookmarks bookmarks_;
  std::string entry_;  // what is not reachable from it is not compiled
  // The last build and its inputs.
  std::shared_ptr<const Build> build_;
  const relay::Module* built_ = nullptr;
  std::string built_entry_;
  std::shared_ptr<const Options> built_with_;
};

// Null: the program is of another kind, or there is none.
RelayText* relay_text(Program* program);

}  // namespace rldb::session
