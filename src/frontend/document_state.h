// The state of a Document: what is known about its text, and the steps of an edit. Users: document.cc,
// document_members.cc.
#pragma once

#include <algorithm>
#include <memory>
#include <optional>
#include <set>
#include <string_view>
#include <vector>

#include "frontend/cst/parser.h"
#include "frontend/script/module.h"
#include "rldb/frontend/document.h"
#include "rldb/ir/verifier.h"

namespace rldb::frontend {

using script::Member;

inline bool is_inside(const source::Span& inner, const source::Span& outer) {
  return inner.begin >= outer.begin && inner.end <= outer.end;
}

// Spellings whose presence anywhere in a file changes how all of it is read.
bool says_how_to_read(std::string_view text);
// Whether a part of the text has one. It may be completed by the text beside the part, in the same line.
bool says_how_to_read_at(std::string_view text, std::uint32_t begin, std::uint32_t end);

// The parts of a member visible to callers. Without a type they depend on the caller, and are never the same.
struct Face {
  const ir::Type* type;
  bool broken;
  bool unread;
};
inline Face face_of(const Member& m) {
  return {m.declared ? m.declared : m.function ? m.function->type : nullptr, m.broken, m.damaged_header};
}
inline bool same_face(const Face& a, const Face& b) {
  return a.unread == b.unread && (a.unread || (a.type && a.type == b.type && a.broken == b.broken));
}

// Facts remembered about a member besides those that the reader keeps.
struct MemberFacts {
  std::vector<source::Diagnostic> parsing;
  std::vector<source::Diagnostic> verification;
  const ir::Expr* verified = nullptr;  // the function that `verification` is about
  bool verified_complete = false;      // no function was missing at that time
  bool is_verified = false;            // and none of its callees has changed since
  // Symbolic variables that it has defined, now or before: of two functions with the same one the module is verified.
  std::set<const ir::Var*> symbols;
};

inline bool has_errors_in(const std::vector<source::Diagnostic>& found) {
  return std::any_of(found.begin(), found.end(),
                     [](const source::Diagnostic& d) { return d.severity == source::Severity::Error; });
}
inline bool has_errors(const MemberFacts& f) { return has_errors_in(f.parsing); }

struct Document::State {
  source::SourceManager& sources;
  source::FileId file;
  ParseOptions options;

  std::shared_ptr<ir::Context> shared;  // null: each whole reading makes a new one
  std::shared_ptr<ir::Context> ctx;
  bool spans_moved = false;    // those in `ctx`, by the edit being read
  bool found_outside = false;  // a report beside the function being read
  cst::LiveTree live;
  bool live_follows = false;                   // `live` is the tree of the text, or of the one before `refused`
  std::unique_ptr<source::Buffer> read_text;   // the last text that could be read, when the present one cannot be
  TextEdit refused;                            // from that text to the present one
  ParseResult read_result;                     // of that text
  source::Diagnostics found;                   // of the reading in progress; the reader writes here
  std::unique_ptr<script::Reader> reader;      // of the last whole reading, and every later one
  std::unique_ptr<source::Buffer> whole_text;  // that it read: names are views into it
  cst::Tree whole_tree;
  script::InnerTexts::Mark whole_texts;  // the texts it kept
  std::size_t whole_bytes = 0;           // of `ctx` after it
  cst::LiveTree::Place surroundings;

  ParseResult result;
  source::Diagnostics diagnostics;
  std::vector<MemberFacts> facts;         // by member
  std::vector<source::Diagnostic> outer;  // of the header of the class, which does not parse
  // Of functions and classes that lack a decorator, of damage and of lone names beside the functions.
  std::vector<source::Diagnostic> beside;
  std::vector<cst::LiveTree::Part> fixed;  // what else the file and the class have: imports, attributes
  bool in_parts = false;                   // whether the next edit may be read in part
  bool verify_in_parts = false;
  std::vector<bool> good_bindings;
  std::vector<bool> good_meanwhile;      // of the verification of a text with errors
  ReadScope scope;                       // of this edit, and of those before it in the same update
  std::set<const Member*> members_read;  // the same

  State(source::SourceManager& s, source::FileId f, const ParseOptions& o, std::shared_ptr<ir::Context> with)
      : sources(s), file(f), options(o), shared(std::move(with)) {}

  const source::Buffer& buffer() const { return sources.get(file); }
  script::ModuleState& module() { return reader->modules.front(); }

  // A reading that is cancelled, or runs out of memory, leaves nothing known about the text: the next edit reads
  // all of it.
  template <class Reading>
  void all_or_nothing(Reading&& reading) {
    try {
      reading();
    } catch (...) {
      live_follows = false;
      in_parts = false;
      result = {};
      result.ok = false;
      diagnostics.clear();
      read_text.reset();
      throw;
    }
  }

  // ---- the whole text ----

  void read_whole();
  void divide();
  bool is_lone() const;
  bool lone_names_hold();
  bool can_be_divided();
  void verify_whole();

  // ---- a part of it ----

  void begin_scope() {
    scope = {false, 0, 0};
    members_read.clear();
  }
  bool replace(std::uint32_t begin, std::uint32_t end, std::string_view text);
  void follow(const TextEdit& edit, std::unique_ptr<source::Buffer> before);
  bool stays_within_limits(const TextEdit& edit);
  bool read_part(const TextEdit& edit, const cst::LiveTree::Changed& changed, std::string_view old_text);
  std::vector<std::uint32_t> other_indents(const Member& m, const TextEdit& edit, std::string_view old_text);
  bool has_indents(const Member& m, const std::vector<std::uint32_t>& indents);
  bool read_class_header(const TextEdit& edit, const cst::LiveTree::Changed& changed, std::string_view old_text);
  bool read_members(const TextEdit& edit, const cst::LiveTree::Changed& changed, std::string_view old_text);
  std::string_view class_header(std::string_view text) const;
  bool is_of_class_header(const source::Diagnostic& d);
  bool has_damage() const;
  bool is_damaged(std::string_view header, std::uint32_t begin, std::uint32_t end);
  Member* member_at(const TextEdit& edit);
  script::Keep keep_after(const Member& m, const TextEdit& edit, std::string_view old_text);
  bool same_surroundings(const Member& m, const cst::LiveTree::Place& place, const TextEdit& edit);
  void move_spans(const TextEdit& edit);
  void move_all(const TextEdit& edit);
  bool read_function(Member& m, const TextEdit* edit, script::Keep keep = script::Keep::Nothing);
  bool read_all_of(Member& m);
  bool leave_unread(Member& m, const TextEdit& edit);
  bool read_callers(Member& changed, std::vector<Member*>& read);
  void finish(const std::vector<Member*>& read);
  void rebuild_module();
  void verify_parts(const std::vector<Member*>& read);
  std::vector<std::size_t> sharing_symbols() const;
  ir::VerifyOptions verify_options();
  void note_verified(std::size_t member);
  source::Diagnostic placed(source::Diagnostic d);
  void forget_good(const Member& m);
  void take_sorted(std::vector<source::Diagnostic> all);
  bool has_header_diagnostics(const Member& m);
  std::size_t index_of(const Member& m);
  void collect_diagnostics();

  // ---- which functions there are: document_members.cc ----

  struct Layout;
  struct MemberChanges;
  bool may_change_members(const TextEdit& edit, std::string_view old_text);
  bool is_above_class(const TextEdit& edit, std::string_view old_text) const;
  std::uint32_t class_begin_after(const TextEdit& edit) const;
  std::optional<Layout> layout(std::uint32_t class_begin);
  void note_fixed();
  bool same_fixed(const Layout& now, const TextEdit& edit) const;
  bool same_imports(const Layout& now) const;
  bool is_untouched(const Member& m, const cst::LiveTree::Part& now, const TextEdit& edit,
                    const cst::LiveTree::Changed& changed, std::string_view old_text) const;
  std::optional<MemberChanges> changes_of_members(const Layout& now, const TextEdit& edit,
                                                  const cst::LiveTree::Changed& changed, std::string_view old_text);
  bool has_unknown_name(const Member& m);
  bool add_mentions(MemberChanges& changes, const Layout& now, const TextEdit& edit, std::string_view old_text);
  Member& add_member(const cst::LiveTree::Part& part);
  void remove_member(Member& m);
  bool read_changes(const MemberChanges& changes, const TextEdit& edit, std::vector<Member*>& read);
  std::optional<std::vector<source::Diagnostic>> read_beside(const Layout& now);
  bool knows_beside();

  cst::TreeOptions tree_options() const {
    cst::TreeOptions t;
    t.max_depth = options.max_depth;
    return t;
  }
};

}  // namespace rldb::frontend
