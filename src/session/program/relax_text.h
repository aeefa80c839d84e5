// Relax text as a session's program. Its build is the session's (build.cc). Room-private.
#pragma once

#include "rldb/session/session.h"

namespace rldb::relay {
class Context;
struct Module;
class Typing;
}  // namespace rldb::relay

namespace rldb::session {

// The Relax module of a Relay module, whose types `typing` has. Null after errors.
const ir::Module* translated(ir::Context& ctx, relay::Context& relay, const relay::Module* module,
                             const relay::Typing& typing, Diagnostics& out);

class Session::RelaxText final : public Program {
 public:
  RelaxText(Session& session, std::string path, const ir::Module* module, bool check_well_formed);
  // Null: diagnosed.
  static std::unique_ptr<Program> read(Session& session, std::string path, std::string text, Diagnostics& out);
  // The same, with its document.
  static std::unique_ptr<Program> read_document(Session& session, std::string path, std::string text, Diagnostics& out);
  static std::unique_ptr<Program> translate_document(Session& session, std::string path, std::string text,
                                                     Diagnostics& out);
  // Of Relay text: the module's nodes have their places in it. Of an edited one only what the edit touches is read and
  // typed again; it is translated as a whole.
  static std::unique_ptr<Program> translate(Session& session, std::string path, std::string text, Diagnostics& out);

  // Of an ONNX model: the module's nodes have their places in its listing.
  static std::unique_ptr<Program> import(Session& session, const std::string& path, std::string_view bytes,
                                         Diagnostics& out);

  bool check_well_formed() const { return check_well_formed_; }

  // Whether its text can be edited (Options::keep_document when it was read).
  bool has_document() const { return edited_ != nullptr; }
  bool is_document_of_relay() const;
  source::FileId file_of_document() const;
  // The program after an edit of its document. Null: the text has errors, which are diagnosed in a text of their own;
  // the document is as before.
  std::unique_ptr<Program> edit(std::string_view text, Diagnostics& out, TextChange& change);
  // The program is one from before the last edit of its document: takes that edit back.
  void undo_edit() noexcept;

  ProgramKind kind() const override { return ProgramKind::RelaxText; }
  const onnx::Translation* onnx() const override { return onnx_.get(); }
  const onnx::Translation* initialisers() const override { return initialisers_.get(); }
  void take_initialisers(const RelaxText& from) { initialisers_ = from.initialisers_; }
  std::unique_ptr<Program> copy() const override;
  std::vector<std::string> function_names() const override;
  std::optional<std::vector<Parameter>> parameters(std::string_view function, std::string& not_runnable) override;
  std::optional<std::string> text_of(pipeline::ModuleRef module, TextFor purpose,
                                     std::string_view function) const override;
  std::vector<std::string> changed_between(pipeline::ModuleRef before, pipeline::ModuleRef after) const override;
  std::vector<std::string> functions_of(pipeline::ModuleRef module) const override;
  std::string_view extension() const override { return ".py"; }
  std::shared_ptr<const Build> runnable(Diagnostics& out) override { return session_.build(out); }
  std::shared_ptr<const Build> viewable(Diagnostics& out) override { return session_.build(out); }
  std::optional<std::string> executable_file(Diagnostics& out, const bytecode::DebugInfo* names) override;

 protected:
  bool run(const std::vector<pipeline::Invocation>& passes, Diagnostics& out,
           const pipeline::Instruments& instruments) override;

 private:
  const ir::Module* module() const { return history_.current().as<ir::Module>(); }
  // The document is shared by all copies of the program; `revision_` tells which of its texts this one was read from.
  struct EditedText;
  struct EditedScript;
  struct EditedRelay;
  static std::unique_ptr<Program> open_document(Session& session, std::string path, std::shared_ptr<EditedText> edited,
                                                Diagnostics& out);
  bool check_well_formed_;
  std::shared_ptr<EditedText> edited_;
  std::uint64_t revision_ = 0;
  std::shared_ptr<const onnx::Translation> onnx_;  // of the ONNX model that it was
  std::shared_ptr<const onnx::Translation> initialisers_;
};

}  // namespace rldb::session
