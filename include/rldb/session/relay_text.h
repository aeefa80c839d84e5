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

struct TextChange;

// The text and what its versions share. Immutable, except that passes make nodes and add their names.
struct RelaySource {
  explicit RelaySource(std::shared_ptr<relay::Context> c) : context(std::move(c)), ctx(*context) {}

  std::shared_ptr<relay::Context> context;  // a text that is edited has its document's
  relay::Context& ctx;
  source::FileId file;
  relay::Typing typing;  // of version 0; a text that is a lone expression is not typed, as in TVM
  relay::TextNames names;
};

// Definitions that were entered at the prompt, and how to make the text what it was before them.
struct RelayEntered {
  struct Piece {
    std::uint32_t begin, end;  // in the text with the definitions; ascending
    std::string text;
  };
  std::vector<std::string> names;
  std::vector<Piece> back;
  // Those entered earlier, and the version that stood when they had been.
  std::shared_ptr<RelayEntered> before;
  std::size_t version_before = 0;

  RelayEntered() = default;
  RelayEntered(const RelayEntered&) = delete;
  RelayEntered& operator=(const RelayEntered&) = delete;
  ~RelayEntered();  // of a long session without recursion
};

class RelayText final : public Program {
 public:
  // Null: diagnosed.
  static std::unique_ptr<RelayText> read(Session& session, std::string path, std::string text, Diagnostics& out);

  // Whether its text can be edited (Options::keep_document when it was read).
  bool has_document() const { return edited_ != nullptr; }
  // The program after an edit of its document. Null: the text has errors, which are diagnosed in a text of their own;
  // the document is as before.
  std::unique_ptr<Program> edit(std::string_view text, Diagnostics& out, TextChange& change);
  // The program is one from before the last edit of its document: takes that edit back.
  void undo_edit() noexcept;

  std::string_view text() const;
  // The last definitions entered that its text has; null: none since it was loaded or edited as a file.
  const std::shared_ptr<RelayEntered>& entered() const { return entered_; }
  // The version that stood when they had been entered, or the one from which other passes were run since.
  std::size_t entered_at() const { return entered_at_; }
  void set_entered(std::shared_ptr<RelayEntered> entered, std::size_t version) {
    entered_ = std::move(entered);
    entered_at_ = version;
  }
  // `names` were entered, and made this one of the text and the program before.
  void note_entered(std::vector<std::string> names, std::string_view before, std::shared_ptr<RelayEntered> earlier,
                    std::size_t earlier_at);
  std::string text_before_entered() const;

  RelaySource& source() const { return *source_; }
  const relay::Module* module() const { return history_.current().as<relay::Module>(); }
  const relay::Module* module_at(std::size_t version) const { return history_.module_at(version).as<relay::Module>(); }

  ProgramKind kind() const override { return ProgramKind::RelayText; }
  std::unique_ptr<Program> copy() const override;
  bool verify(Diagnostics& out) const;
  std::vector<std::string> function_names() const override;
  std::optional<std::vector<Parameter>> parameters(std::string_view function, std::string& not_runnable) override;
  runtime::Result<runtime::Value> as_argument(runtime::Value given, const Parameter& p) const override;
  std::optional<std::string> text_of(pipeline::ModuleRef module, TextFor purpose,
                                     std::string_view function) const override;
  std::vector<std::string> changed_between(pipeline::ModuleRef before, pipeline::ModuleRef after) const override;
  std::vector<std::string> functions_of(pipeline::ModuleRef module) const override;
  std::string_view extension() const override { return ".relay"; }
  const pipeline::PassTable& passes() const override;
  // Functions that it does not reach are not compiled, and passes may drop them.
  void set_entry(std::string function) { entry_ = std::move(function); }
  std::shared_ptr<const Build> runnable(Diagnostics& out) override;
  // The last build; null: none yet.
  const Build* built() const { return build_.get(); }
  std::shared_ptr<const Build> viewable(Diagnostics& out) override { return runnable(out); }
  std::optional<std::string> executable_file(Diagnostics& out, const bytecode::DebugInfo* names) override;
  std::string listing(const Build& build) const override;

 protected:
  bool run(const std::vector<pipeline::Invocation>& passes, Diagnostics& out,
           const pipeline::Instruments& instruments) override;

 private:
  RelayText(Session& session, std::string path, std::shared_ptr<RelaySource> source, const relay::Module* module);
  static std::unique_ptr<RelayText> read_document(Session& session, std::string path, std::string text,
                                                  Diagnostics& out);

  // The document is shared by all copies of the program; `revision_` tells which of its texts this one was read from.
  struct EditedText;
  std::shared_ptr<EditedText> edited_;
  std::uint64_t revision_ = 0;
  std::shared_ptr<RelaySource> source_;
  std::shared_ptr<RelayEntered> entered_;
  std::size_t entered_at_ = 0;
  std::string entry_;
  // The last build and its inputs.
  std::shared_ptr<const Build> build_;
  const relay::Module* built_ = nullptr;
  std::string built_entry_;
  std::shared_ptr<const Options> built_with_;
};

// Null: the program is of another kind, or there is none.
RelayText* relay_text(Program* program);

}  // namespace rldb::session
