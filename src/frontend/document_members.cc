// An edit that changes which functions a class has: one is typed, pasted or removed, or a header in a body cuts the
// function in two. The others stay as they are.
#include "frontend/cst/damage.h"
#include "frontend/document_state.h"
#include "frontend/echo.h"
#include "rldb/source/diagnostic_script_function.h"
#include "rldb/source/diagnostic_syntax.h"

namespace rldb::frontend {

using cst::Kind;
using Part = cst::LiveTree::Part;

// The statements of the file and of its class, by what they are for a document.
struct Document::State::Layout {
  Part of_class;
  std::vector<Part> functions;  // of the class
  std::vector<Part> fixed;      // as long as these are the same, the functions can be read by themselves
  std::vector<Part> plain;      // functions and classes without the decorators that they need
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

bool begins_in(const Part& part, const std::vector<std::uint32_t>& begins) {
  return std::binary_search(begins.begin(), begins.end(), part.begin);
}

// All but statements that may have damage that the runtime takes for none: blocks (a colon that is missing), lines that
// are too deep.
class LinesLeftOut : public cst::KnownStatements {
 public:
  bool keeps(const Statement& s) override {
    return s.kind == Kind::Binding || s.kind == Kind::ExpressionStatement || s.kind == Kind::ReturnStatement;
  }
  bool next(Statement&) override { return false; }
};

}  // namespace

// ---- what there is ----

// Nullopt: something that a document does not read in part.
std::optional<Document::State::Layout> Document::State::layout() {
  const std::string_view text = buffer().text();
  auto cuts = live.damaged_statements();
  if (!cuts) return std::nullopt;
  std::sort(cuts->begin(), cuts->end());
  Layout found;
  bool has_class = false;
  for (const Part& part : live.parts()) {
    if (begins_in(part, *cuts) || script::is_function(part.kind) || part.kind == Kind::UnexpectedIndent)
      return std::nullopt;
    if (part.kind == Kind::Module && part.begin == result.items[0].span.begin) {
      found.of_class = part;
      has_class = name_of(part, text) == module().name;
    } else if (part.plain && (part.kind == Kind::FunctionDefinition || part.kind == Kind::Module)) {
      if (live.has_cut_header(part.begin, part.body)) return std::nullopt;
      found.plain.push_back(part);
    } else {
      found.fixed.push_back(part);
    }
  }
  if (!has_class) return std::nullopt;
  for (const Part& part : live.parts(found.of_class)) {
    if (part.kind == Kind::UnexpectedIndent) return std::nullopt;
    if (script::is_function(part.kind)) {
      if (part.name_begin == part.name_end || live.has_cut_header(part.begin, part.body)) return std::nullopt;
      found.functions.push_back(part);
    } else if (part.kind == Kind::FunctionDefinition) {
      if (live.has_cut_header(part.begin, part.body)) return std::nullopt;
      found.plain.push_back(part);
    } else {
      found.fixed.push_back(part);
    }
  }
  // Damage is within functions.
  for (const std::uint32_t at : *cuts) {
    const auto holds = [&](const Part& p) { return p.begin <= at && at < p.end; };
    if (std::none_of(found.functions.begin(), found.functions.end(), holds)) return std::nullopt;
  }
  return found;
}

// After the whole text has been read.
void Document::State::note_fixed() {
  fixed.clear();
  const std::vector<Part> of_file = live.parts();
  const auto is_class = [&](const Part& p) { return p.kind == Kind::Module && p.begin == result.items[0].span.begin; };
  for (const Part& p : of_file) {
    const bool is_plain = p.plain && (p.kind == Kind::FunctionDefinition || p.kind == Kind::Module);
    if (!is_class(p) && !is_plain) fixed.push_back(p);
  }
  for (const Part& c : of_file)
    if (is_class(c))
      for (const Part& p : live.parts(c))
        if (!script::is_function(p.kind) && p.kind != Kind::FunctionDefinition) fixed.push_back(p);
}

bool Document::State::same_fixed(const Layout& now, const TextEdit& edit) const {
  return std::equal(fixed.begin(), fixed.end(), now.fixed.begin(), now.fixed.end(), [&](const Part& a, const Part& b) {
    return a.kind == b.kind && !touches(edit, a.begin, a.end) && edit.moved(a.begin) == b.begin &&
           edit.moved(a.end) == b.end;
  });
}

// ---- what has changed ----

bool Document::State::may_change_members(const TextEdit& edit, std::string_view old_text) {
  // As in read_part.
  constexpr std::size_t kSlack = std::size_t(32) << 20;
  if (!in_parts || reader->missed_member || (!shared && ctx->bytes_reserved() > 2 * whole_bytes + kSlack)) return false;
  if (!outer.empty()) return false;
  constexpr std::uint32_t kBeside = 20;
  const std::uint32_t beside_begin = edit.begin - std::min(edit.begin, kBeside);
  if (says_how_to_read(old_text.substr(beside_begin, edit.old_end + kBeside - beside_begin)) ||
      says_how_to_read(buffer().text().substr(beside_begin, edit.new_end + kBeside - beside_begin)))
    return false;
  // (A class with superclasses has members without decorators.)
  const std::string_view header = class_header(old_text);
  if (header.empty()) return false;
  const std::string_view line = header.substr(0, header.find('\n'));
  const auto line_end = static_cast<std::uint32_t>(line.data() + line.size() - old_text.data());
  return line.find('(') == std::string_view::npos && edit.begin > line_end;
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
    const bool same =
        begins && at != now.functions.end() && at->begin == begin && at->kind == m.kind && name_of(*at, text) == m.name;
    if (!same) {
      out.removed.push_back(&m);
      continue;
    }
    matched[std::size_t(at - now.functions.begin())] = true;
    names.insert(m.name);
    if (is_untouched(m, *at, edit, changed, old_text)) continue;
    if (m.cyclic) return std::nullopt;
    const bool has_memo = m.memo && m.signature && !m.memo->abandoned() && !m.damaged_header;
    const bool in_body = edit.begin > m.body && !has_header_diagnostics(m);
    out.touched.push_back({&m, *at, has_memo && in_body ? script::Keep::Signature : script::Keep::Nothing});
  }
  for (std::size_t i = 0; i < matched.size(); ++i) {
    if (matched[i]) continue;
    if (!names.insert(name_of(now.functions[i], text)).second) return std::nullopt;  // one that is there
    out.added.push_back(now.functions[i]);
  }
  return out;
}

// A name that comes or goes may mean something in every function that has it. False: all has to be read.
bool Document::State::add_mentions(MemberChanges& changes, const Layout& now) {
  const std::string_view text = buffer().text();
  std::vector<std::string_view> names;
  for (const Part& part : changes.added) names.push_back(name_of(part, text));
  for (const Member* m : changes.removed) names.push_back(m->name);
  for (const Part& part : now.functions) {
    const std::string_view code = text_of(part, text);
    const auto has = [&](std::string_view name) { return has_word(code, name); };
    const bool is_added =
        std::any_of(changes.added.begin(), changes.added.end(), [&](const Part& p) { return p.begin == part.begin; });
    if (is_added || std::none_of(names.begin(), names.end(), has)) continue;
    const auto of_part = [&](const MemberChanges::Touched& t) { return t.now.begin == part.begin; };
    const auto touched = std::find_if(changes.touched.begin(), changes.touched.end(), of_part);
    if (touched != changes.touched.end()) {
      changes.mentions.push_back(*touched);
      changes.touched.erase(touched);
    } else {
      const auto it = module().by_name.find(name_of(part, text));
      if (it == module().by_name.end() || it->second->cyclic) return false;
      changes.mentions.push_back({it->second, part, script::Keep::Nothing});
    }
    changes.mentions.back().keep = script::Keep::Nothing;
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
    m.span.end = t.now.end;
    return (t.keep != script::Keep::Nothing && read_function(m, &edit, t.keep)) || read_function(m, nullptr);
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
bool Document::State::read_beside(const Layout& now) {
  const std::string_view text = buffer().text();
  found.clear();
  LinesLeftOut lines;
  for (const Part& part : now.plain) {
    cst::TreeOptions copying = tree_options();
    copying.known = &lines;
    const cst::Tree tree = live.copy_node(file, part.kind, part.begin, copying);
    if (tree.rows.empty()) return false;
    cst::report_damage(tree, found);
    const source::Span name{file, part.name_begin, part.name_end};
    if (part.kind == Kind::Module) {
      if (script::lacks_decorator(text.substr(part.body, part.end - part.body)))
        found.add(name, script::undecorated_module(name_of(part, text)));
    } else if (is_inside(name, {file, now.of_class.begin, now.of_class.end})) {
      found.add(name, script::undecorated_function(name_of(part, text)));
    }
  }
  beside = found.all();
  return std::all_of(beside.begin(), beside.end(), is_beside);
}

// Whether a diagnostic of no function is one that `read_beside` finds.
bool Document::State::is_beside(const source::Diagnostic& d) {
  return d.id == diag::UndecoratedModule || d.id == diag::UndecoratedFunction;
}

bool Document::State::read_members(const TextEdit& edit, const cst::LiveTree::Changed& changed,
                                   std::string_view old_text) {
  if (!may_change_members(edit, old_text)) return false;
  const std::optional<Layout> now = layout();
  if (!now || now->functions.empty() || !same_fixed(*now, edit)) return false;
  auto changes = changes_of_members(*now, edit, changed, old_text);
  if (!changes || !add_mentions(*changes, *now)) return false;
  move_all(edit);
  result.items[0].span = module().span = {file, now->of_class.begin, now->of_class.end};
  reader->text = buffer().text();
  reader->module = &module();
  module().damaged = false;  // a function that is missed is looked for in the whole text
  std::vector<Member*> read;
  bool good = read_changes(*changes, edit, read) && !reader->missed_member && read_beside(*now);
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
