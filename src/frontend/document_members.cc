// An edit that changes which functions a class has: one is typed, pasted or removed, or a header in a body cuts the
// function in two. The others stay as they are.
#include <tuple>

#include "frontend/cst/damage.h"
#include "frontend/cst/scan.h"
#include "frontend/document_state.h"
#include "frontend/echo.h"
#include "frontend/script/undecorated.h"
#include "frontend/script/value/unsupported.h"
#include "rldb/source/diagnostic_script_function.h"
#include "rldb/source/diagnostic_script_name.h"
#include "rldb/source/diagnostic_script_relax.h"
#include "rldb/source/diagnostic_syntax.h"

namespace rldb::frontend {

using cst::Kind;
using Part = cst::LiveTree::Part;

// The statements of the file and of its class, by what they are for a document.
struct Document::State::Layout {
  Part of_class;
  std::vector<Part> functions;     // of the class
  std::vector<Part> fixed;         // as long as these are the same, the functions can be read by themselves
  std::vector<Part> imports;       // of the file
  std::vector<Part> plain;         // functions and classes without the decorators that they need
  std::vector<Part> damaged;       // statements of the file, beside the class, that were cut out
  std::vector<Part> names;         // of the class: names alone, as they are while something is typed
  std::vector<Part> cut;           // of the class: what was cut out beside its functions
  bool has_damaged_class = false;  // besides its functions
};

struct Document::State::MemberChanges {
  struct Touched {
    Member* member;
    Part now;
    script::Keep keep;
  };
  std::vector<Touched> touched;
  std::vector<Part> added;
  std::vector<Member*> removed;
  std::vector<Touched> mentions;  // others whose text has a name that came or went
};

namespace {

bool is_word_character(char c) {
  return c == '_' || (c >= '0' && c <= '9') || ((c | 0x20) >= 'a' && (c | 0x20) <= 'z');
}

bool has_word(std::string_view text, std::string_view word) {
  for (std::size_t at = text.find(word); at != std::string_view::npos; at = text.find(word, at + 1)) {
    const std::size_t end = at + word.size();
    if ((at == 0 || !is_word_character(text[at - 1])) && (end == text.size() || !is_word_character(text[end])))
      return true;
  }
  return false;
}

std::string_view text_of(const Part& part, std::string_view text) {
  return text.substr(part.begin, part.end - part.begin);
}
std::string_view name_of(const Part& part, std::string_view text) {
  return text.substr(part.name_begin, part.name_end - part.name_begin);
}

bool touches(const TextEdit& edit, std::uint32_t begin, std::uint32_t end) {
  return begin <= edit.old_end && edit.begin <= end;
}

std::size_t line_begin(std::string_view text, std::size_t at) {
  const std::size_t line = at == 0 ? std::string_view::npos : text.rfind('\n', at - 1);
  return line == std::string_view::npos ? 0 : line + 1;
}

bool ends_line(std::string_view text, std::size_t at) { return at >= text.size() || text[at] == '\n'; }

std::string_view lines_around(std::string_view text, std::size_t begin, std::size_t end) {
  begin = line_begin(text, begin);
  return text.substr(begin, std::min(text.find('\n', end), text.size()) - begin);
}

// Statements of the class that say what the module is, as far as they can be read.
bool says_what_the_module_is(std::string_view lines) {
  return has_word(lines, "module_attrs") || has_word(lines, "module_global_infos") || has_word(lines, "ExternFunc");
}

using Cuts = std::vector<cst::LiveTree::DamagedStatement>;

// A damaged statement of several lines may hold others, whose indentation fits nowhere else.
bool may_hold_others(const cst::LiveTree::DamagedStatement& cut, std::string_view text) {
  return text.substr(cut.begin, cut.end - cut.begin).find('\n') != std::string_view::npos;
}

const cst::LiveTree::DamagedStatement* cut_at(const Part& part, const Cuts& cuts) {
  const auto at = std::lower_bound(cuts.begin(), cuts.end(), part.begin,
                                   [](const auto& cut, std::uint32_t begin) { return cut.begin < begin; });
  return at != cuts.end() && at->begin == part.begin ? &*at : nullptr;
}

// All but statements that may have damage that the runtime takes for none: blocks (a colon that is missing), lines that
// are too deep, `else: x`.
class LinesLeftOut : public cst::KnownStatements {
 public:
  explicit LinesLeftOut(std::string_view text) : text_(text) {}
  bool keeps(const Statement& s) override {
    const bool is_line =
        s.kind == Kind::Binding || s.kind == Kind::ExpressionStatement || s.kind == Kind::ReturnStatement;
    return is_line && cst::is_plain_line(text_.substr(s.begin, s.end - s.begin));
  }
  bool next(Statement&) override { return false; }

 private:
  std::string_view text_;
};

// A class by its own statements.
class FunctionsLeftOut : public cst::KnownStatements {
 public:
  bool keeps(const Statement& s) override { return script::is_function(s.kind) || s.kind == Kind::FunctionDefinition; }
  bool keeps_damaged(const Statement& s) override { return keeps(s); }
  bool next(Statement&) override { return false; }
};

bool is_name(const Part& part, std::string_view text) {
  const std::string_view code = text_of(part, text);
  const auto begins = [](char c) { return is_word_character(c) && !(c >= '0' && c <= '9'); };
  return part.kind == Kind::ExpressionStatement && !code.empty() && begins(code[0]) &&
         std::all_of(code.begin(), code.end(), [](char c) { return c == '.' || is_word_character(c); });
}

// No damage is beside it.
bool has_line_of_its_own(const Part& part, std::string_view text) {
  const std::size_t begin = line_begin(text, part.begin);
  const std::string_view before = text.substr(begin, part.begin - begin);
  return before.find_first_not_of(' ') == std::string_view::npos && ends_line(text, part.end);
}

bool is_import(const Part& part, std::string_view text) {
  return (part.kind == Kind::ImportStatement || part.kind == Kind::ImportFromStatement) &&
         has_line_of_its_own(part, text);
}

// An expression of the file, which is not run.
bool is_inert(const Part& part, std::string_view text) {
  constexpr std::uint32_t kMost = 500;  // too short to be nested too deep
  return part.kind == Kind::ExpressionStatement && part.end - part.begin <= kMost && has_line_of_its_own(part, text) &&
         cst::is_plain_line(text_of(part, text));
}

bool holds(const Part& part, std::uint32_t at) { return part.begin <= at && at < part.end; }
bool holds(const std::vector<Part>& parts, std::uint32_t at) {
  return std::any_of(parts.begin(), parts.end(), [&](const Part& p) { return holds(p, at); });
}

}  // namespace

// ---- what there is ----

// Nullopt: something that a document does not read in part.
std::optional<Document::State::Layout> Document::State::layout(std::uint32_t class_begin) {
  const std::string_view text = buffer().text();
  auto cuts = live.damaged_statements();
  if (!cuts) return std::nullopt;
  Layout found;
  bool has_class = false;
  for (const Part& part : live.parts()) {
    if (script::is_function(part.kind) || part.kind == Kind::UnexpectedIndent) return std::nullopt;
    if (const auto* cut = cut_at(part, *cuts)) {
      if (part.kind != Kind::ExpressionStatement || may_hold_others(*cut, text)) return std::nullopt;
      found.damaged.push_back(part);
    } else if (part.kind == Kind::Module && part.begin == class_begin) {
      found.of_class = part;
      has_class = name_of(part, text) == module().name;
    } else if (part.plain && (part.kind == Kind::FunctionDefinition || part.kind == Kind::Module)) {
      if (live.has_cut_header(part.begin, part.body)) return std::nullopt;
      found.plain.push_back(part);
    } else if (is_import(part, text)) {
      found.imports.push_back(part);
    } else if (!is_inert(part, text)) {
      found.fixed.push_back(part);
    }
  }
  if (!has_class) return std::nullopt;
  for (const Part& part : live.parts(found.of_class)) {
    if (part.kind == Kind::UnexpectedIndent) return std::nullopt;
    // Without a block: what fell out of it is the class's.
    const bool has_block =
        script::is_function(part.kind) || part.kind == Kind::FunctionDefinition || part.kind == Kind::Module;
    if (has_block && part.body >= part.end) return std::nullopt;
    if (script::is_function(part.kind)) {
      if (part.name_begin == part.name_end || live.has_cut_header(part.begin, part.body)) return std::nullopt;
      found.functions.push_back(part);
    } else if (part.kind == Kind::FunctionDefinition || part.kind == Kind::Module) {
      if (part.name_begin == part.name_end || live.has_cut_header(part.begin, part.body)) return std::nullopt;
      found.plain.push_back(part);
    } else if (const auto* cut = cut_at(part, *cuts)) {
      if (part.kind != Kind::ExpressionStatement || may_hold_others(*cut, text)) return std::nullopt;
      found.cut.push_back(part);
    } else if (is_name(part, text)) {
      if (!has_line_of_its_own(part, text)) return std::nullopt;
      found.names.push_back(part);
    } else {
      found.fixed.push_back(part);
    }
  }
  // Damage is within functions, or found by reading what is beside them. A line that is read as if it stood elsewhere
  // means what it says there.
  for (const auto& cut : *cuts) {
    const std::uint32_t at = cut.begin;
    if (holds(found.functions, at) || holds(found.plain, at) || holds(found.damaged, at)) continue;
    if (cut.misplaced || !holds(found.of_class, at) || holds(found.fixed, at)) return std::nullopt;
    found.has_damaged_class = true;
  }
  return found;
}

// After the whole text has been read.
void Document::State::note_fixed() {
  fixed.clear();
  const Cuts cuts = live.damaged_statements().value_or(Cuts());
  const std::string_view text = buffer().text();
  const std::vector<Part> of_file = live.parts();
  const auto is_class = [&](const Part& p) { return p.kind == Kind::Module && p.begin == result.items[0].span.begin; };
  for (const Part& p : of_file) {
    const bool is_plain = p.plain && (p.kind == Kind::FunctionDefinition || p.kind == Kind::Module);
    if (!is_class(p) && !is_plain && !cut_at(p, cuts) && !is_import(p, text) && !is_inert(p, text)) fixed.push_back(p);
  }
  for (const Part& c : of_file)
    if (is_class(c))
      for (const Part& p : live.parts(c))
        if (!script::is_function(p.kind) && p.kind != Kind::FunctionDefinition && p.kind != Kind::Module &&
            !cut_at(p, cuts) && !is_name(p, text))
          fixed.push_back(p);
}

bool Document::State::same_fixed(const Layout& now, const TextEdit& edit) const {
  return std::equal(fixed.begin(), fixed.end(), now.fixed.begin(), now.fixed.end(), [&](const Part& a, const Part& b) {
    return a.kind == b.kind && !touches(edit, a.begin, a.end) && edit.moved(a.begin) == b.begin &&
           edit.moved(a.end) == b.end;
  });
}

// Whether `R`, `T` and `I` are what they were. A damaged import line says what can be read of it.
bool Document::State::same_imports(const Layout& now) const {
  std::vector<Part> parts = now.imports;
  for (const Part& part : now.damaged)
    if (has_word(text_of(part, buffer().text()), "import")) parts.push_back(part);
  std::sort(parts.begin(), parts.end(), [](const Part& a, const Part& b) { return a.begin < b.begin; });
  std::vector<cst::Tree> trees;
  for (const Part& part : parts) trees.push_back(live.copy_node(file, part.kind, part.begin, tree_options()));
  std::vector<cst::Node> nodes;
  for (const cst::Tree& tree : trees) {
    if (tree.rows.empty()) return false;
    const cst::Node& node = nodes.emplace_back(&tree, 0);
    if (!node.is(Kind::ImportStatement) && !node.is(Kind::ImportFromStatement)) return false;
  }
  return script::imports_of(nodes, buffer().text()) == reader->imports;
}

// ---- what has changed ----

bool Document::State::may_change_members(const TextEdit& edit, std::string_view old_text) {
  // As in read_part.
  constexpr std::size_t kSlack = std::size_t(32) << 20;
  if (!in_parts || reader->missed_member || (!shared && ctx->bytes_reserved() > 2 * whole_bytes + kSlack)) return false;
  if (!outer.empty()) return false;
  if (says_how_to_read_at(old_text, edit.begin, edit.old_end) ||
      says_how_to_read_at(buffer().text(), edit.begin, edit.new_end))
    return false;
  if (says_what_the_module_is(lines_around(old_text, edit.begin, edit.old_end)) ||
      says_what_the_module_is(lines_around(buffer().text(), edit.begin, edit.new_end)))
    return false;
  // (A class with superclasses has members without decorators.)
  const std::string_view header = class_header(old_text);
  if (header.empty()) return false;
  const std::string_view line = header.substr(0, header.find('\n'));
  const auto line_end = static_cast<std::uint32_t>(line.data() + line.size() - old_text.data());
  return line.find('(') == std::string_view::npos && (edit.begin > line_end || is_above_class(edit, old_text));
}

// Whole lines away from the decorators of the class.
bool Document::State::is_above_class(const TextEdit& edit, std::string_view old_text) const {
  const std::uint32_t begin = result.items[0].span.begin;
  return edit.old_end <= line_begin(old_text, begin) &&
         edit.new_end <= line_begin(buffer().text(), class_begin_after(edit));
}
// Text typed directly before the class is no part of it.
std::uint32_t Document::State::class_begin_after(const TextEdit& edit) const {
  const std::uint32_t begin = result.items[0].span.begin;
  return begin >= edit.old_end ? static_cast<std::uint32_t>(begin + edit.delta()) : edit.moved(begin);
}

// Neither its text nor its place in the tree is another one.
bool Document::State::is_untouched(const Member& m, const Part& now, const TextEdit& edit,
                                   const cst::LiveTree::Changed& changed, std::string_view old_text) const {
  const std::string_view text = buffer().text();
  if (now.end != edit.moved(m.span.end)) return false;
  if (edit.old_end <= m.span.begin)
    return edit.old_end <= line_begin(old_text, m.span.begin) && changed.end <= now.begin;
  if (edit.begin < m.span.end || changed.begin < now.end) return false;
  return ends_line(text, now.end) && ends_line(old_text, m.span.end);
}

std::optional<Document::State::MemberChanges> Document::State::changes_of_members(const Layout& now,
                                                                                  const TextEdit& edit,
                                                                                  const cst::LiveTree::Changed& changed,
                                                                                  std::string_view old_text) {
  const std::string_view text = buffer().text();
  MemberChanges out;
  std::vector<bool> matched(now.functions.size());
  std::set<std::string_view> names;
  for (Member& m : module().members) {
    if (m.gone) continue;
    if (!script::is_function(m.kind)) {  // of a statement that is fixed
      names.insert(m.name);
      continue;
    }
    const bool begins = m.span.begin <= edit.begin || m.span.begin >= edit.old_end;
    const std::uint32_t begin = edit.moved(m.span.begin);
    const auto at = std::lower_bound(now.functions.begin(), now.functions.end(), begin,
                                     [](const Part& p, std::uint32_t b) { return p.begin < b; });
    const auto is_same = [&](const Part& p) { return p.kind == m.kind && name_of(p, text) == m.name; };
    auto same = begins && at != now.functions.end() && at->begin == begin && is_same(*at) ? at : now.functions.end();
    // A decorator of it came or went.
    if (same == now.functions.end() && edit.begin <= m.body)
      same = std::find_if(now.functions.begin(), now.functions.end(),
                          [&](const Part& p) { return is_same(p) && p.end == edit.moved(m.span.end); });
    if (same == now.functions.end()) {
      out.removed.push_back(&m);
      continue;
    }
    matched[std::size_t(same - now.functions.begin())] = true;
    names.insert(m.name);
    if (same->begin == begin && is_untouched(m, *same, edit, changed, old_text)) continue;
    if (m.cyclic) return std::nullopt;
    out.touched.push_back({&m, *same, keep_after(m, edit, old_text)});
  }
  for (std::size_t i = 0; i < matched.size(); ++i) {
    if (matched[i]) continue;
    if (!names.insert(name_of(now.functions[i], text)).second) return std::nullopt;  // one that is there
    out.added.push_back(now.functions[i]);
  }
  return out;
}

bool Document::State::has_unknown_name(const Member& m) {
  const std::vector<source::Diagnostic>& all = facts[index_of(m)].parsing;
  return std::any_of(all.begin(), all.end(), [](const source::Diagnostic& d) { return d.id == diag::UnknownName; });
}

// A name that comes or goes may mean something in every function that has it. False: all has to be read.
bool Document::State::add_mentions(MemberChanges& changes, const Layout& now, const TextEdit& edit,
                                   std::string_view old_text) {
  const std::string_view text = buffer().text();
  std::vector<std::string_view> names;
  for (const Part& part : changes.added) names.push_back(name_of(part, text));
  for (const Member* m : changes.removed) names.push_back(m->name);
  for (const Part& part : now.functions) {
    const std::string_view code = text_of(part, text);
    const auto has = [&](std::string_view name) { return has_word(code, name); };
    const bool is_added =
        std::any_of(changes.added.begin(), changes.added.end(), [&](const Part& p) { return p.begin == part.begin; });
    if (is_added) continue;
    const bool mentions = std::any_of(names.begin(), names.end(), has);
    const auto it = module().by_name.find(name_of(part, text));
    // Names that are similar to an unknown one are part of its report.
    if (!mentions && (names.empty() || it == module().by_name.end() || !has_unknown_name(*it->second))) continue;
    const auto of_part = [&](const MemberChanges::Touched& t) { return t.now.begin == part.begin; };
    const auto touched = std::find_if(changes.touched.begin(), changes.touched.end(), of_part);
    if (touched != changes.touched.end()) {
      changes.mentions.push_back(*touched);
      changes.touched.erase(touched);
    } else {
      if (it == module().by_name.end() || it->second->cyclic) return false;
      changes.mentions.push_back({it->second, part, keep_after(*it->second, edit, old_text)});
    }
    if (mentions) changes.mentions.back().keep = script::Keep::Nothing;
  }
  // They are read behind those that they mention, which may not need them.
  for (const Part& part : changes.added)
    for (const MemberChanges::Touched& t : changes.mentions)
      if (has_word(text_of(part, text), t.member->name)) return false;
  return true;
}

// ---- reading it ----

Member& Document::State::add_member(const Part& part) {
  script::ModuleState& m = module();
  Member& member = m.members.emplace_back();
  member.name = ctx->str(name_of(part, buffer().text()));
  member.kind = part.kind;
  member.span = {file, part.begin, part.end};
  member.body = part.body;
  m.by_name.emplace(member.name, &member);
  facts.emplace_back();
  return member;
}

void Document::State::remove_member(Member& m) {
  module().by_name.erase(m.name);
  facts[index_of(m)] = {};
  m.gone = true;
  m.span = {};
  m.state = Member::State::Failed;
  m.function = nullptr;
  m.declared = nullptr;
  m.var = nullptr;
  m.memo.reset();
  m.signature.reset();
  m.callees.clear();
  m.broken = m.damaged_header = m.lost_parameters = m.lost_definitions = false;
}

bool Document::State::read_changes(const MemberChanges& changes, const TextEdit& edit, std::vector<Member*>& read) {
  std::vector<std::pair<Member*, Face>> faces;
  const auto read_touched = [&](const MemberChanges::Touched& t) {
    Member& m = *t.member;
    faces.emplace_back(&m, face_of(m));
    read.push_back(&m);
    m.span.begin = t.now.begin;
    m.span.end = t.now.end;
    return (t.keep != script::Keep::Nothing && read_function(m, &edit, t.keep)) || read_all_of(m);
  };
  for (const MemberChanges::Touched& t : changes.touched)
    if (!read_touched(t)) return false;
  for (Member* m : changes.removed) remove_member(*m);
  // One may call the other: all have their texts before the first is read.
  std::vector<Member*> added;
  std::vector<cst::Tree> trees;
  trees.reserve(changes.added.size());
  for (const Part& part : changes.added) {
    added.push_back(&add_member(part));
    trees.push_back(live.copy_node(file, part.kind, part.begin, tree_options()));
    if (trees.back().rows.empty()) return false;
    added.back()->node = cst::Node(&trees.back(), 0);
  }
  for (Member* m : added) {
    read.push_back(m);
    if (m->state == Member::State::Waiting) {
      if (!read_function(*m, nullptr)) return false;
    } else if (m->cyclic || m->broken) {
      return false;
    }
    m->node = {};
  }
  for (const MemberChanges::Touched& t : changes.mentions)
    if (!read_touched(t)) return false;
  for (const auto& [m, before] : faces)
    if (!same_face(before, face_of(*m)) && !read_callers(*m, read)) return false;
  return true;
}

// Reports about the class and the file besides their functions.
std::optional<std::vector<source::Diagnostic>> Document::State::read_beside(const Layout& now) {
  const std::string_view text = buffer().text();
  source::Diagnostics all;
  cst::TreeOptions copying = tree_options();
  FunctionsLeftOut functions;
  copying.known = &functions;
  if (now.has_damaged_class) {
    const cst::Tree tree = live.copy_node(file, Kind::Module, now.of_class.begin, copying);
    if (tree.rows.empty()) return std::nullopt;
    source::Diagnostics of_class;
    cst::report_damage(tree, of_class);
    // Statements that the grammar joined to others may be reported otherwise than as damage.
    for (const Part& part : now.cut)
      if (std::none_of(of_class.all().begin(), of_class.all().end(),
                       [&](const source::Diagnostic& d) { return holds(part, d.span.begin); }))
        return std::nullopt;
    for (const source::Diagnostic& d : of_class.all())
      if (!holds(now.functions, d.span.begin) && !holds(now.plain, d.span.begin)) all.add(d);
  }
  for (const Part& part : now.damaged) {
    const std::size_t before = all.all().size();
    cst::report_damage(live.copy_node(file, part.kind, part.begin, tree_options()), all);
    if (all.all().size() == before) return std::nullopt;  // several statements of which the first is sound
  }
  for (const Part& part : now.imports)  // `import a asR` has no error in its tree
    cst::report_damage(live.copy_node(file, part.kind, part.begin, tree_options()), all);
  for (const Part& part : now.names)
    all.add({file, part.begin, part.end}, source::message(diag::UnsupportedHere, "an expression", "in a module"));
  LinesLeftOut lines(text);
  copying.known = &lines;
  for (const Part& part : now.plain) {
    const cst::Tree tree = live.copy_node(file, part.kind, part.begin, copying);
    if (tree.rows.empty()) return std::nullopt;
    cst::report_damage(tree, all);
    const source::Span name{file, part.name_begin, part.name_end};
    const bool in_class = is_inside(name, {file, now.of_class.begin, now.of_class.end});
    if (part.kind == Kind::Module && in_class) {
      const auto line_end = static_cast<std::uint32_t>(std::min(text.find('\n', part.begin), std::size_t(part.end)));
      all.add({file, part.begin, line_end},
              source::message(diag::UnsupportedHere, script::shown_kind(Kind::Module), "in a module"));
    } else if (part.kind == Kind::Module) {
      if (auto found = script::undecorated_module(text, part.begin, name, text.substr(part.body, part.end - part.body)))
        all.add(found->at, std::move(found->message));
    } else if (in_class) {
      script::Undecorated found = script::undecorated_function(text, part.begin, name);
      all.add(found.at, std::move(found.message));
    }
  }
  if (all.all().size() >= source::Diagnostics::kMaxDiagnostics) return std::nullopt;
  return all.all();
}

// After the whole text has been read: whether the diagnostics of no function are those that `read_beside` finds.
bool Document::State::knows_beside() {
  const auto is_plain = [](const source::Diagnostic& d) {
    return d.id == diag::UndecoratedModule || d.id == diag::UndecoratedFunction;
  };
  if (std::all_of(beside.begin(), beside.end(), is_plain)) return true;
  const std::optional<Layout> now = layout(result.items[0].span.begin);
  auto read = now ? read_beside(*now) : std::nullopt;
  if (!read || read->size() != beside.size()) return false;
  const auto before = [](const source::Diagnostic& a, const source::Diagnostic& b) {
    return std::tie(a.span.begin, a.span.end, a.message) < std::tie(b.span.begin, b.span.end, b.message);
  };
  std::vector<source::Diagnostic> all = beside;
  std::sort(all.begin(), all.end(), before);
  std::sort(read->begin(), read->end(), before);
  return std::equal(all.begin(), all.end(), read->begin(),
                    [&](const auto& a, const auto& b) { return a.id == b.id && !before(a, b) && !before(b, a); });
}

bool Document::State::read_members(const TextEdit& edit, const cst::LiveTree::Changed& changed,
                                   std::string_view old_text) {
  if (!may_change_members(edit, old_text)) return false;
  const std::optional<Layout> now = layout(class_begin_after(edit));
  if (!now || now->functions.empty() || !same_fixed(*now, edit) || !same_imports(*now)) return false;
  auto changes = changes_of_members(*now, edit, changed, old_text);
  if (!changes || !add_mentions(*changes, *now, edit, old_text)) return false;
  move_all(edit);
  result.items[0].span = module().span = {file, now->of_class.begin, now->of_class.end};
  reader->text = buffer().text();
  reader->module = &module();
  module().damaged = false;  // a function that is missed is looked for in the whole text
  std::vector<Member*> read;
  bool good = read_changes(*changes, edit, read) && !reader->missed_member;
  auto besides = good ? read_beside(*now) : std::nullopt;
  good = besides.has_value();
  if (good) beside = std::move(*besides);
  const Member& first = module().first_member();
  const auto place = good ? live.find(first.kind, first.span.begin) : std::nullopt;
  good = good && place;
  if (good) {
    surroundings = *place;
    module().damaged = has_damage();
    finish(read);
  }
  reader->module = nullptr;
  return good;
}

}  // namespace rldb::frontend
