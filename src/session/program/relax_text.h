// Relax text as a session's program. Its build is the session's (build.cc). Room-private.
#pragma once

#include "rldb/session/session.h"

namespace rldb::session {

class Session::RelaxText final : public Program {
 public:
  RelaxText(Session& session, std::string path, const ir::Module* module, bool check_well_formed);
  // Null: diagnosed.
  static std::unique_ptr<Program> read(Session& session, std::string path, std::string text, Diagnostics& out);
  // Of Relay text: the module's nodes have their places in it. Nothing else of it is kept.
  static std::unique_ptr<Program> translate(Session& session, std::string path, std::string text, Diagnostics& out);

  // Of an ONNX model: the module's nodes have their places in its listing.
  static std::unique_ptr<Program> import(Session& session, const std::string& path, std::string_view bytes,
                                         Diagnostics& out);

  passes::History& history() { return history_; }
  const passes::History& history() const { return history_; }
  bool check_well_formed() const { return check_well_formed_; }
  bool apply(std::string_view pipeline, Diagnostics& out, const passes::RunOptions& options);

  ProgramKind kind() const override { return ProgramKind::RelaxText; }
  std::unique_ptr<Program> copy() const override;
  std::vector<std::string> function_names() const override;
  std::optional<std::vector<Parameter>> parameters(std::string_view function, std::string& not_runnable) override;
  std::size_t version_count() const override { return history_.size(); }
  std::size_t position() const override { return history_.position(); }
  Version version(std::size_t v) const override;
  const Bookmarks& bookmarks() const override { return history_.bookmarks(); }
  bool is_same(std::size_t a, std::size_t b) const override;
  std::vector<std::string> changed(std::size_t a, std::size_t b) const override;
  std::optional<std::string> text(std::size_t v, TextFor purpose, std::string_view function) const override;
  bool go_to(std::size_t version) override { return history_.rewind(version); }
  void add_bookmark(std::string name) override { history_.bookmark(std::move(name)); }
  bool run_passes(std::string_view pipeline, Diagnostics& out, const PassObserver& before) override;
  std::vector<PassRow> passes() const override;
  std::vector<PipelineRow> pipelines() const override;
  std::shared_ptr<const Build> runnable(Diagnostics& out) override { return session_.build(out); }
  std::shared_ptr<const Build> viewable(Diagnostics& out) override { return session_.build(out); }
  std::optional<std::string> executable_file(Diagnostics& out, const bytecode::DebugInfo* names) override;

 protected:
  std::vector<std::string> minimum() const override;

 private:
  passes::History history_;
  bool check_well_formed_;
  source::FileId listing_;  // of the ONNX model that it was
};

}  // namespace rldb::session
