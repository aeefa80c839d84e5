// An edit: the text, tree-sitter's tree, spans, then the enclosing function, its callers, the module; else the whole
// text.
//
// It is long because it is one state: each step of an edit changes what the others rely on (members, their facts, the
// diagnostics of each part), and may give up in favour of reading the whole text.
#include "rldb/frontend/document.h"

#include <algorithm>
#include <map>
#include <set>

#include "frontend/cst/damage.h"
#include "frontend/cst/scan.h"
#include "frontend/document_state.h"
#include "frontend/echo.h"
#include "frontend/index/index_tree.h"
#include "frontend/joined_edits.h"
#include "frontend/place.h"
#include "frontend/script/trailing_scalars.h"
#include "frontend/text.h"
#include "rldb/ir/attr_name/symbol.h"
#include "rldb/ir/verifier.h"
#include "rldb/ir/walk.h"
#include "rldb/ops/op_info.h"
#include "rldb/source/diagnostic_script_function.h"
#include "rldb/source/diagnostic_syntax.h"
#include "rldb/support/text.h"

namespace rldb::frontend {

namespace {

void move_span(source::Span& span, source::FileId file, const TextEdit& edit) {
  if (span.file != file) return;
  span.begin = edit.moved(span.begin);
  span.end = edit.moved(span.end);
}

void move_diagnostics(std::vector<source::Diagnostic>& diagnostics, source::FileId file, const TextEdit& edit) {
  for (source::Diagnostic& d : diagnostics) {
    move_span(d.span, file, edit);
    for (source::Note& n : d.notes) move_span(n.span, file, edit);
  }
}

void sort_by_place(std::vector<source::Diagnostic>& diagnostics) {
  std::stable_sort(
      diagnostics.begin(), diagnostics.end(),
      [](const source::Diagnostic& a, const source::Diagnostic& b) { return a.span.begin < b.span.begin; });
}

// Whether a piece of text that begins outside brackets and strings, on a line of its own, also ends so. Comments are
// not checked: they count towards a limit together with those around.
bool is_closed(std::string_view text) {
  if (text.find('#') != std::string_view::npos) return false;
  const std::size_t line = text.rfind('\n');
  if (line == std::string_view::npos || text.find_first_not_of(" \t", line + 1) != std::string_view::npos) return false;
  const cst::Scan scan = cst::scan_brackets(text, 0, text.size());
  return scan.open.empty() && scan.stray == cst::Scan::kNone && scan.long_string == cst::Scan::kNone &&
         text.find('\\') == std::string_view::npos;
}

// Whether the lines around a place may declare a symbolic variable.
bool may_declare(std::string_view text, std::size_t begin, std::size_t end) {
  const std::size_t line = begin == 0 ? std::string_view::npos : text.rfind('\n', begin - 1);
  const std::size_t from = line == std::string_view::npos ? 0 : line + 1;
  return text.substr(from, std::min(text.find('\n', end), text.size()) - from).find("T.") != std::string_view::npos;
}

// Reported once for the whole text.
bool is_too_deep(const source::Diagnostics& found) {
  return std::any_of(found.all().begin(), found.all().end(),
                     [](const source::Diagnostic& d) { return d.id == diag::NestedTooDeepText; });
}

}  // namespace

// Spellings whose presence anywhere in a file changes how all of it is read.
bool says_how_to_read(std::string_view text) {
  for (const std::string_view s :
       {std::string_view("R.Tensor["), std::string_view("R.outputs("), std::string_view("R.match_shape("),
        std::string_view("import tir"), script::kTirVars})
    if (text.find(s) != std::string_view::npos) return true;
  return false;
}

bool says_how_to_read_at(std::string_view text, std::uint32_t begin, std::uint32_t end) {
  constexpr std::uint32_t kBeside = 20;
  std::string_view before = text.substr(0, begin), behind = text.substr(end, kBeside);
  before = before.substr(before.size() - std::min(before.size(), std::size_t(kBeside)));
  before = before.substr(before.rfind('\n') + 1);  // (npos + 1 is 0)
  behind = behind.substr(0, behind.find('\n'));
  return says_how_to_read(text.substr(begin - before.size(), before.size() + (end - begin) + behind.size()));
}

// ---- the whole text ----

void Document::State::read_whole() {
  scope = {};
  members_read.clear();
  in_parts = false;
  reader.reset();
  whole_text.reset();
  found.clear();
  diagnostics.clear();
  facts.clear();
  outer.clear();
  beside.clear();
  fixed.clear();
  read_text.reset();
  good_bindings.clear();
  result = {};
  ctx = shared;
  if (!ctx) {
    ctx = std::make_shared<ir::Context>();
    ops::install(*ctx);
  }
  if (!check_text(buffer(), file, diagnostics)) {
    live_follows = false;
    result.ok = false;
    return;
  }
  if (!live_follows) live.reset(buffer().text());
  live_follows = true;
  whole_tree = live.copy(file, tree_options());
  cst::report_damage(whole_tree, found);
  reader = std::make_unique<script::Reader>(*ctx, sources, file, found, options, nullptr);
  reader->remember = true;
  result = script::read_file(*reader, whole_tree);
  result.ok = !found.has_errors();
  whole_texts = reader->texts.mark();
  divide();
  // Without parts, the facts about the whole are enough.
  if (!in_parts) {
    if (!found.all().empty()) add_without_echoes(found.all(), functions_of(whole_tree), buffer().text(), diagnostics);
    verify_whole();
  }
  if (!reader->metadata) whole_tree.rows = {};
  whole_bytes = ctx->bytes_reserved();
}

// A file of functions without a class.
bool Document::State::is_lone() const {
  const auto is_function = [](const ParsedItem& item) { return item.kind == ItemKind::Function; };
  return !result.items.empty() && std::all_of(result.items.begin(), result.items.end(), is_function);
}

// A single one is named by its global_symbol; the parts of a document are known by their `def` names.
bool Document::State::lone_names_hold() {
  const std::deque<Member>& members = module().members;
  if (members.size() != 1) return true;
  const auto* f = ir::as<ir::Function>(members.front().function);
  const ir::Attr* symbol = f ? ir::find_attr(f->attrs, attr_name::GlobalSymbol) : nullptr;
  return !symbol || (symbol->is(ir::AttrKind::String) && symbol->string == members.front().name);
}

// Parts are the functions of the only class of a file, or those of a file without any. Anything else that affects them
// (macros, constants of the file, RFC 0089's purity, which depends on callees) makes the text one piece.
bool Document::State::can_be_divided() {
  if (!result.module || reader->modules.size() != 1 || reader->rfc_spelling()) return false;
  if (!is_lone() && (result.items.size() != 1 || result.items[0].kind != ItemKind::Module)) return false;
  if (is_lone() && !lone_names_hold()) return false;
  if (!module().fresh_outputs.empty()) return false;
  if (!reader->names.scope.names().empty()) return false;
  return found.all().size() < source::Diagnostics::kMaxDiagnostics && !is_too_deep(found) && !module().members.empty();
}

void Document::State::divide() {
  if (!can_be_divided()) return;
  std::deque<Member>& members = module().members;
  facts.resize(members.size());
  for (const source::Diagnostic& d : found.all()) {
    std::size_t at = 0;
    while (at < members.size() && !(d.span.file == file && is_inside(d.span, members[at].span))) ++at;
    if (at < members.size()) {
      facts[at].parsing.push_back(d);
    } else if (is_of_class_header(d)) {
      outer.push_back(d);
    } else {
      beside.push_back(d);
    }
  }
  if (!knows_beside()) return;
  for (std::size_t i = 0; i < members.size(); ++i) {
    members[i].node = {};
    if (!members[i].memo) continue;
    std::vector<source::Span> places;
    for (const source::Diagnostic& d : facts[i].parsing) places.push_back(d.span);
    std::sort(places.begin(), places.end(), [](const auto& a, const auto& b) { return a.begin < b.begin; });
    members[i].memo->finish(places);
  }
  const auto place = live.find(members.front().kind, members.front().span.begin);
  if (!place) return;
  surroundings = *place;
  note_fixed();
  in_parts = true;
  verify_in_parts = true;
  verify_whole();
  collect_diagnostics();
}

// Rules about the module as a whole belong to no function: then each verification is of the whole module.
void Document::State::verify_whole() {
  if (!result.module) return;
  if (!in_parts) {
    source::Diagnostics all;
    for (const source::Diagnostic& d : diagnostics.all()) all.add(d);
    verify_parsed(*ctx, sources, result, all);
    return take_sorted(all.all());
  }
  source::Diagnostics verification;
  ir::verify(*ctx, result.module, verification, verify_options());
  std::deque<Member>& members = module().members;
  for (std::size_t i = 0; i < members.size(); ++i) note_verified(i);
  for (const source::Diagnostic& d : verification.all()) {
    std::size_t at = 0;
    while (at < members.size() && !(d.span.file == file && is_inside(d.span, members[at].span))) ++at;
    if (at == members.size()) {
      verify_in_parts = false;
      at = 0;
    }
    facts[at].verification.push_back(placed(d));
  }
}

// ---- a part of it ----

// The text has changed. One that cannot be read (binary, or with a bracket that swallows too much) is waited out: the
// next readable one is treated as an edit of the last readable one.
void Document::State::follow(const TextEdit& step, std::unique_ptr<source::Buffer> before) {
  TextEdit edit = step;
  bool within_limits = false;
  const bool joins = read_text != nullptr;
  if (joins) {
    edit = joined(refused, step);
    before = std::move(read_text);
  } else {
    within_limits = in_parts && stays_within_limits(edit);
  }
  source::Diagnostics problems;
  if (!live_follows || !check_text(buffer(), file, problems, within_limits)) {
    if (!live_follows) return read_whole();
    if (!joins) read_result = std::move(result);
    read_text = std::move(before);
    refused = edit;
    result = {};
    result.ok = false;
    diagnostics.clear();
    for (const source::Diagnostic& d : problems.all()) diagnostics.add(d);
    return;
  }
  if (joins) result = std::move(read_result);
  const cst::LiveTree::Changed changed = live.edit({edit.begin, edit.old_end, edit.new_end}, buffer().text());
  spans_moved = found_outside = false;
  const bool read = read_part(edit, changed, before->text()) || read_class_header(edit, changed, before->text()) ||
                    (!spans_moved && read_members(edit, changed, before->text()));
  if (!whole_text) whole_text = std::move(before);
  if (read) return;
  // Modules of a shared context that were read before are still in use.
  if (shared && !spans_moved) move_spans(edit);
  read_whole();
}

// Between two statements that the edit does not touch the limits are unchanged.
bool Document::State::stays_within_limits(const TextEdit& edit) {
  constexpr std::uint32_t kFar = 4096;
  const Member* m = member_at(edit);
  if (!m || !m->memo) return false;
  const auto [from, to] = m->memo->around(edit);
  if (to == 0 || to - from > kFar) return false;
  const auto new_to = static_cast<std::uint32_t>(to + edit.delta());
  return new_to - from <= kFar && is_closed(buffer().text().substr(from, new_to - from));
}

std::size_t Document::State::index_of(const Member& m) {
  const std::deque<Member>& members = module().members;
  for (std::size_t i = 0; i < members.size(); ++i)
    if (&members[i] == &m) return i;
  return members.size();
}

Member* Document::State::member_at(const TextEdit& edit) {
  for (Member& m : module().members)
    if (m.span.begin < edit.begin && edit.old_end <= m.span.end) return &m;
  return nullptr;
}

bool Document::State::same_surroundings(const Member& m, const cst::LiveTree::Place& place, const TextEdit& edit) {
  if (place.depth != surroundings.depth || place.sibling_counts != surroundings.sibling_counts) return false;
  // It ends where it did; an edit of its last line may end it elsewhere, with only blanks after it.
  if (place.end == edit.moved(m.span.end)) return true;
  return edit.new_end > place.end && edit.old_end == m.span.end &&
         buffer().text().substr(place.end, edit.new_end - place.end).find_first_not_of(" \t\r\n") ==
             std::string_view::npos;
}

// From `class` to the first function.
std::string_view Document::State::class_header(std::string_view text) const {
  const std::uint32_t begin = result.items[0].span.begin, end = reader->modules.front().first_member().span.begin;
  const std::string_view head = text.substr(begin, end - begin);
  for (std::size_t line = 0; line < head.size(); line = head.find('\n', line) + 1) {
    const std::size_t first = head.find_first_not_of(" \t", line);
    if (first != std::string_view::npos && head.substr(first).starts_with("class ")) return head.substr(first);
    if (head.find('\n', line) == std::string_view::npos) break;
  }
  return {};
}

bool Document::State::is_of_class_header(const source::Diagnostic& d) {
  const std::string_view text = buffer().text(), header = class_header(text);
  if (header.empty() || d.span.file != file) return false;
  const auto begin = static_cast<std::uint32_t>(header.data() - text.data());
  const auto end = begin + static_cast<std::uint32_t>(std::min(header.find('\n'), header.size()));
  return d.span.begin >= begin && d.span.begin <= end && is_damaged(header, begin, end);
}

// Of the syntax, anywhere.
bool Document::State::has_damage() const {
  const auto is_one = [](const source::Diagnostic& d) { return is_syntax(d.id); };
  return live.has_error() || std::any_of(outer.begin(), outer.end(), is_one) ||
         std::any_of(beside.begin(), beside.end(), is_one) ||
         std::any_of(facts.begin(), facts.end(),
                     [&](const MemberFacts& f) { return std::any_of(f.parsing.begin(), f.parsing.end(), is_one); });
}

// One that was cut out; or that lacks its colon only, which the grammar lets pass.
bool Document::State::is_damaged(std::string_view header, std::uint32_t begin, std::uint32_t end) {
  const std::string_view line = cst::code_of(header.substr(0, header.find('\n')));
  return live.has_cut_header(begin, end) || line == "class " + std::string(module().name);
}

namespace {

// Known as they are: the header around them is what changes.
class AllKept : public cst::KnownStatements {
 public:
  bool keeps(const Statement&) override { return ++count > 0; }
  bool keeps_damaged(const Statement& s) override { return keeps(s); }
  bool next(Statement&) override { return false; }
  std::size_t count = 0;
};

}  // namespace

// While the header of the class is damaged, it is read as `class Name:`; from and to such a header, only its errors
// change.
bool Document::State::read_class_header(const TextEdit& edit, const cst::LiveTree::Changed& changed,
                                        std::string_view old_text) {
  if (!in_parts) return false;
  const std::string_view before = class_header(old_text);
  const std::string plain = "class " + std::string(module().name) + ":";
  const auto is_plain = [&](std::string_view header) { return header.substr(0, header.find('\n')) == plain; };
  if (before.empty() || (outer.empty() && !is_plain(before))) return false;
  const auto begin = static_cast<std::uint32_t>(before.data() - old_text.data());
  const auto line_end = begin + static_cast<std::uint32_t>(before.find('\n'));
  const auto new_line_end = static_cast<std::uint32_t>(line_end + edit.delta());
  constexpr std::uint32_t kWord = 5;
  if (edit.begin < begin + kWord || edit.old_end > line_end) return false;
  if (buffer().text().substr(edit.begin, edit.new_end - edit.begin).find('\n') != std::string_view::npos) return false;
  if (changed.begin < begin || changed.end > new_line_end) return false;
  const Member& first = module().first_member();
  const auto place = live.find(first.kind, edit.moved(first.span.begin));
  // Only the class itself may have other parts.
  if (!place || place->depth != surroundings.depth || place->sibling_counts.size() < 2 ||
      place->sibling_counts.front() != surroundings.sibling_counts.front() ||
      place->sibling_counts.back() != surroundings.sibling_counts.back())
    return false;
  AllKept members;
  cst::TreeOptions copying = tree_options();
  copying.known = &members;
  const cst::Tree tree = live.copy_node(file, cst::Kind::Module, result.items[0].span.begin, copying);
  const bool damaged = is_damaged(buffer().text().substr(begin), begin, new_line_end);
  if (tree.rows.empty() || cst::Node(&tree, 0).child(cst::Field::Name).text() != module().name) return false;
  if (!damaged && !is_plain(buffer().text().substr(begin))) return false;
  if (reader->missed_member && (module().damaged || has_damage())) return false;
  found.clear();
  cst::report_damage(tree, found);
  if (damaged != found.has_errors()) return false;
  move_all(edit);
  surroundings = *place;
  outer = found.all();
  module().damaged = has_damage();
  reader->text = buffer().text();
  reader->module = &module();
  rebuild_module();
  verify_parts({});
  collect_diagnostics();
  reader->module = nullptr;
  return true;
}

void Document::State::move_spans(const TextEdit& edit) {
  if (spans_moved) return;
  for (source::Span& s : ctx->spans().rows()) move_span(s, file, edit);
  spans_moved = true;
}

void Document::State::move_all(const TextEdit& edit) {
  move_spans(edit);
  move_span(module().span, file, edit);
  for (Member& m : module().members) {
    move_span(m.span, file, edit);
    m.body = edit.moved(m.body);
    if (m.memo) m.memo->move_cut_off(edit);
  }
  for (MemberFacts& f : facts) {
    move_diagnostics(f.parsing, file, edit);
    move_diagnostics(f.verification, file, edit);
  }
  move_diagnostics(outer, file, edit);
  move_diagnostics(beside, file, edit);
  for (cst::LiveTree::Part& part : fixed) {
    part.begin = edit.moved(part.begin);
    part.end = edit.moved(part.end);
  }
  for (ParsedItem& item : result.items) move_span(item.span, file, edit);
}

// While the header of a member does not parse: its errors, and those of the body's syntax. The facts known about its
// statements follow the edits until the header can be read.
bool Document::State::leave_unread(Member& m, const TextEdit& edit) {
  if (m.memo) m.memo->apply(edit);
  cst::TreeOptions copying = tree_options();
  if (m.memo && !m.memo->abandoned()) copying.known = m.memo.get();
  const cst::Tree tree = live.copy_node(file, m.kind, m.span.begin, copying);
  if (tree.rows.empty() || cst::Node(&tree, 0).child(cst::Field::Name).text() != m.name) return false;
  found.clear();
  cst::report_damage(tree, found);
  if (is_too_deep(found) || found.all().size() >= source::Diagnostics::kMaxDiagnostics) return false;
  script::leave_unread(m, cst::Node(&tree, 0));
  facts[index_of(m)].parsing = found.all();
  return true;
}

// Whether a function needs itself, perhaps by way of others: such functions are read in the order in which they need
// each other.
static bool needs_itself(const Member& m) {
  std::vector<const Member*> open{&m};
  std::set<const Member*> seen;
  while (!open.empty()) {
    const Member* at = open.back();
    open.pop_back();
    for (const Member* callee : at->callees) {
      if (callee == &m) return true;
      if (seen.insert(callee).second) open.push_back(callee);
    }
  }
  return false;
}

// Reads a member from the live tree. With an edit, only the part of the body that it affects; false if that fails.
bool Document::State::read_function(Member& m, const TextEdit* edit, script::Keep keep) {
  cst::TreeOptions copying = tree_options();
  if (edit) {
    m.memo->apply(*edit, keep == script::Keep::Statements);
    if (m.memo->abandoned()) return false;
    if (const auto place = live.find(m.kind, m.span.begin)) m.memo->reach(place->end);
    copying.known = m.memo.get();
    m.memo->reload = [this](cst::Kind kind, std::uint32_t begin, std::uint32_t end) {
      cst::Tree tree = live.copy_node(file, kind, begin, tree_options());
      if (tree.rows.empty() || tree.rows[0].end != end) return cst::Node();
      return cst::Node(&reader->texts.keep(std::move(tree)), 0);
    };
  }
  const cst::Tree tree = live.copy_node(file, m.kind, m.span.begin, copying);
  if (tree.rows.empty() || cst::Node(&tree, 0).child(cst::Field::Name).text() != m.name) return false;
  found.clear();
  cst::report_damage(tree, found);
  script::read_again(*reader, m, cst::Node(&tree, 0), edit ? keep : script::Keep::Nothing);
  if (m.memo) m.memo->reload = nullptr;
  reader->texts.back_to(whole_texts);
  if (m.cyclic || needs_itself(m)) return false;
  if (is_too_deep(found) || found.all().size() >= source::Diagnostics::kMaxDiagnostics) return false;
  std::vector<source::Span> places;
  for (const source::Diagnostic& d : found.all()) {
    found_outside = d.span.file != file || !is_inside(d.span, m.span);
    if (found_outside) return false;
    places.push_back(d.span);
  }
  std::sort(places.begin(), places.end(), [](const auto& a, const auto& b) { return a.begin < b.begin; });
  if (m.memo && !m.damaged_header) {
    m.memo->finish(places);
    if (edit && m.memo->abandoned()) return false;
    scope.statements += m.memo->read_count();
  }
  MemberFacts& f = facts[index_of(m)];
  f.parsing = found.all();
  return true;
}

// After an attempt to read it in part. A report about something else (metadata) is made once.
bool Document::State::read_all_of(Member& m) { return !found_outside && read_function(m, nullptr); }

// Callers of a function whose type has changed, and their callers. False when one would have to be read
// twice.
bool Document::State::read_callers(Member& changed, std::vector<Member*>& read) {
  for (Member& m : module().members) {
    if (std::find(m.callees.begin(), m.callees.end(), &changed) == m.callees.end()) continue;
    if (std::find(read.begin(), read.end(), &m) != read.end()) return false;
    read.push_back(&m);
    const Face before = face_of(m);
    if (!read_function(m, nullptr)) return false;
    if (!same_face(before, face_of(m)) && !read_callers(m, read)) return false;
  }
  return true;
}

// Diagnostics of the signature are not repeated when only the body is read. A missing return, which is reported at the
// function's name, is one of the body.
bool Document::State::has_header_diagnostics(const Member& m) {
  const std::vector<source::Diagnostic>& all = facts[index_of(m)].parsing;
  return std::any_of(all.begin(), all.end(),
                     [&](const source::Diagnostic& d) { return d.span.begin < m.body && d.id != diag::NoReturn; });
}

// The parts of a function that need not be read again, before the edit is applied to it.
script::Keep Document::State::keep_after(const Member& m, const TextEdit& edit, std::string_view old_text) {
  if (!m.memo || !m.signature || m.memo->abandoned()) return script::Keep::Nothing;
  // Statements that follow a `return` are not read, but declarations there give variables their dtypes.
  const std::vector<source::Diagnostic>& all = facts[index_of(m)].parsing;
  const bool follows_return = std::any_of(all.begin(), all.end(), [&](const source::Diagnostic& d) {
    return d.id == diag::AfterReturn && d.span.begin <= edit.old_end;
  });
  if (follows_return &&
      (may_declare(old_text, edit.begin, edit.old_end) || may_declare(buffer().text(), edit.begin, edit.new_end)))
    return script::Keep::Nothing;
  const bool in_body = edit.begin > m.body && !has_header_diagnostics(m) && !m.damaged_header;
  return in_body ? script::Keep::Signature : script::Keep::Statements;
}

// Indentation may be unexpected by what is before the function: reading the function alone does not find it again.
// Where it was reported, after the edit, but for the lines that are edited.
std::vector<std::uint32_t> Document::State::other_indents(const Member& m, const TextEdit& edit,
                                                          std::string_view old_text) {
  const std::size_t before = old_text.substr(0, edit.begin).rfind('\n'), behind = old_text.find('\n', edit.old_end);
  std::vector<std::uint32_t> at;
  for (const source::Diagnostic& d : facts[index_of(m)].parsing) {
    const bool above = before != std::string_view::npos && d.span.end <= before;
    if (d.id == diag::UnexpectedIndent && (above || d.span.begin >= behind)) at.push_back(edit.moved(d.span.begin));
  }
  return at;
}
bool Document::State::has_indents(const Member& m, const std::vector<std::uint32_t>& indents) {
  const std::vector<source::Diagnostic>& now = facts[index_of(m)].parsing;
  return std::all_of(indents.begin(), indents.end(), [&](std::uint32_t at) {
    return std::any_of(now.begin(), now.end(), [&](const source::Diagnostic& d) {
      return d.id == diag::UnexpectedIndent && d.span.begin == at;
    });
  });
}

bool Document::State::read_part(const TextEdit& edit, const cst::LiveTree::Changed& changed,
                                std::string_view old_text) {
  // Nodes left over by edits in the context are freed by a whole reading.
  constexpr std::size_t kSlack = std::size_t(32) << 20;
  if (!in_parts || (!shared && ctx->bytes_reserved() > 2 * whole_bytes + kSlack)) return false;
  Member* m = member_at(edit);
  if (!m || m->cyclic || !script::is_function(m->kind)) return false;
  if (says_how_to_read_at(old_text, edit.begin, edit.old_end) ||
      says_how_to_read_at(buffer().text(), edit.begin, edit.new_end))
    return false;
  const auto place = live.find(m->kind, m->span.begin);
  if (!place || !same_surroundings(*m, *place, edit)) return false;
  if (changed.begin <= m->span.begin || changed.end > place->end) return false;
  // Where a line is too deep is reported where that begins, unless the line above it is at fault: of the functions'
  // neighbours, too.
  if ((module().damaged || has_damage()) && live.has_deep_lines()) return false;
  // Reports about missing members depend on damage anywhere.
  if (reader->missed_member && (module().damaged || has_damage())) return false;
  if (is_lone() && edit.begin <= m->body) return false;  // the only one decides how all is checked
  // (A header that was typed above the first statement is the first one now.)
  const bool unread = m->kind == cst::Kind::RelaxFunction && live.has_cut_header(m->span.begin, place->body);
  const std::vector<std::uint32_t> indents = other_indents(*m, edit, old_text);
  const script::Keep keep = keep_after(*m, edit, old_text);
  move_all(edit);
  m->span.end = place->end;
  reader->text = buffer().text();
  reader->module = &module();
  const Face before = face_of(*m);
  const bool was_damaged = module().damaged;
  std::vector<Member*> read{m};
  bool good = unread ? leave_unread(*m, edit)
                     : (keep != script::Keep::Nothing && read_function(*m, &edit, keep)) || read_all_of(*m);
  if (good && !same_face(before, face_of(*m))) good = read_callers(*m, read);
  if (good) module().damaged = has_damage();
  good = good && !(reader->missed_member && (was_damaged || module().damaged));
  good = good && (!is_lone() || lone_names_hold());
  good = good && has_indents(*m, indents);
  if (good) finish(read);
  reader->module = nullptr;
  return good;
}

void Document::State::finish(const std::vector<Member*>& read) {
  members_read.insert(read.begin(), read.end());
  scope.functions = members_read.size();
  rebuild_module();
  verify_parts(read);
  collect_diagnostics();
}

void Document::State::rebuild_module() {
  bool broken = false;
  result.gaps = {};
  result.module = script::build_module(*reader, module(), broken, result.gaps);
  if (is_lone()) {
    result.items.clear();
    for (const Member& m : module().members) result.items.push_back(script::lone_item(m));
  } else {
    const auto damages = [&](const source::Diagnostic& d) {
      return is_syntax(d.id) && is_inside(d.span, module().span);
    };
    result.items[0].module = result.module;
    result.items[0].broken = broken || std::any_of(beside.begin(), beside.end(), damages);
  }
  result.ok = outer.empty() && !has_errors_in(beside) && std::none_of(facts.begin(), facts.end(), has_errors);
}

void Document::State::forget_good(const Member& m) {
  const auto* f = ir::as<ir::Function>(m.function);
  if (!f) return;
  ir::walk(f, [&](const ir::Node* n) {
    if (ir::isa<ir::Binding>(n) && n->id < good_bindings.size()) good_bindings[n->id] = false;
    return true;
  });
}

void Document::State::verify_parts(const std::vector<Member*>& read) {
  std::deque<Member>& members = module().members;
  // A caller is checked against its callees.
  for (std::size_t i = 0; i < members.size(); ++i)
    for (const Member* callee : members[i].callees)
      if (callee != &members[i] && std::find(read.begin(), read.end(), callee) != read.end()) {
        facts[i].is_verified = false;
        forget_good(members[i]);
      }
  // Bindings that were found good in an impure function may break rule 12 in a pure one.
  for (std::size_t i = 0; i < members.size(); ++i)
    if (facts[i].verified && ir::demands_purity(facts[i].verified) != ir::demands_purity(members[i].function))
      forget_good(members[i]);
  if (!verify_in_parts) {
    for (MemberFacts& f : facts) f.verification.clear();
    verify_in_parts = true;
    return verify_whole();
  }
  const ir::VerifyOptions options = verify_options();
  for (std::size_t i = 0; i < members.size(); ++i) {
    if (members[i].gone) continue;
    MemberFacts& f = facts[i];
    // Rules that need the whole module find nothing more when a part of it is missing.
    const bool holds = f.verified_complete == result.ok || (f.verified_complete && f.verification.empty());
    if (f.is_verified && f.verified == members[i].function && holds && !has_errors(f)) continue;
    source::Diagnostics verification;
    if (!has_errors(f)) ir::verify_function(*ctx, result.module, members[i].name, verification, options);
    f.verification.clear();
    for (const source::Diagnostic& d : verification.all()) f.verification.push_back(placed(d));
    note_verified(i);
  }
  const std::vector<std::size_t> sharing = sharing_symbols();
  if (sharing.empty()) return;
  for (const std::size_t i : sharing) forget_good(members[i]);
  for (MemberFacts& f : facts) f.verification.clear();
  verify_whole();
}

// Members whose symbolic variables another one has, too (rule 18).
std::vector<std::size_t> Document::State::sharing_symbols() const {
  std::map<const ir::Var*, std::size_t> first;
  std::set<std::size_t> sharing;
  for (std::size_t i = 0; i < facts.size(); ++i)
    for (const ir::Var* symbol : facts[i].symbols)
      if (const auto [at, is_first] = first.emplace(symbol, i); !is_first) sharing.insert({i, at->second});
  return {sharing.begin(), sharing.end()};
}

static auto is_one_of(const std::vector<const ir::Expr*>& functions) {
  return
      [&functions](const ir::Expr* f) { return std::find(functions.begin(), functions.end(), f) != functions.end(); };
}

// Functions with errors are left alone. Functions found good while others were missing may not be.
ir::VerifyOptions Document::State::verify_options() {
  ir::VerifyOptions options;
  options.incomplete = !result.ok;
  // A binding that is found good meanwhile may not be so once everything is there.
  if (!result.ok) good_meanwhile = good_bindings;
  options.good_bindings = result.ok ? &good_bindings : &good_meanwhile;
  options.skip = [this](const ir::Expr* function) {
    const std::deque<Member>& members = module().members;
    for (std::size_t i = 0; i < members.size(); ++i)
      if (members[i].function == function) return has_errors(facts[i]);
    return false;
  };
  options.defines_symbol = [this](std::string_view function, const ir::Var* symbol) {
    const auto member = module().by_name.find(function);
    if (member != module().by_name.end()) facts[index_of(*member->second)].symbols.insert(symbol);
  };
  options.lacks_parameters = is_one_of(result.gaps.parameters);
  options.lacks_definitions = is_one_of(result.gaps.definitions);
  return options;
}

// As verify_parsed shows it.
source::Diagnostic Document::State::placed(source::Diagnostic d) {
  if (!result.check_well_formed) d.severity = source::Severity::Warning;
  if (d.span.file == file) d.span = at_name(d.span, buffer().text());
  return d;
}

void Document::State::note_verified(std::size_t member) {
  facts[member].verified = module().members[member].function;
  facts[member].verified_complete = result.ok;
  facts[member].is_verified = true;
}

void Document::State::take_sorted(std::vector<source::Diagnostic> all) {
  sort_by_place(all);
  diagnostics.clear();
  for (source::Diagnostic& d : all) diagnostics.add(std::move(d));
}

void Document::State::collect_diagnostics() {
  diagnostics.clear();
  std::vector<source::Diagnostic> all = outer;
  all.insert(all.end(), beside.begin(), beside.end());
  FunctionRanges ranges;
  for (std::size_t i = 0; i < facts.size(); ++i) {
    if (module().members[i].gone) continue;
    const source::Span span = module().members[i].span;
    ranges.emplace_back(span.begin, span.end);
    all.insert(all.end(), facts[i].parsing.begin(), facts[i].parsing.end());
  }
  std::sort(ranges.begin(), ranges.end());
  if (!all.empty()) add_without_echoes(std::move(all), ranges, buffer().text(), diagnostics);
  all = diagnostics.all();
  for (const MemberFacts& f : facts) all.insert(all.end(), f.verification.begin(), f.verification.end());
  take_sorted(std::move(all));
}

// ---- the interface ----

Document::Document(source::SourceManager& sources, std::string name, std::string text, const ParseOptions& options,
                   std::shared_ptr<ir::Context> shared)
    : state_(
          std::make_unique<State>(sources, sources.add(std::move(name), std::move(text)), options, std::move(shared))) {
  state_->read_whole();
}

Document::~Document() = default;

namespace {

bool cuts_character(std::string_view text, std::uint32_t offset) {
  return offset < text.size() && (static_cast<unsigned char>(text[offset]) & 0xC0) == 0x80;
}

}  // namespace

bool Document::State::replace(std::uint32_t begin, std::uint32_t end, std::string_view text) {
  const std::string_view old = buffer().text();
  if (begin > end || end > old.size() || cuts_character(old, begin) || cuts_character(old, end)) return false;
  if (old.substr(begin, end - begin) == text) return true;
  const std::size_t size = old.size() - (end - begin) + text.size();
  if (size > source::kMaxBytes) return false;
  std::string fresh;
  fresh.reserve(size);
  fresh.append(old.substr(0, begin)).append(text).append(old.substr(end));
  const TextEdit edit{begin, end, static_cast<std::uint32_t>(begin + text.size())};
  all_or_nothing([&] { follow(edit, sources.replace(file, std::move(fresh))); });
  return true;
}

bool Document::edit(std::uint32_t begin, std::uint32_t end, std::string_view text) {
  state_->begin_scope();
  return state_->replace(begin, end, text);
}

bool Document::edit(source::LineColumn begin, source::LineColumn end, std::string_view text, source::ColumnUnit unit) {
  return edit(state_->buffer().offset(begin, unit), state_->buffer().offset(end, unit), text);
}

void Document::replace_all(std::string text) {
  state_->begin_scope();
  std::unique_ptr<source::Buffer> before = state_->sources.replace(state_->file, std::move(text));
  state_->live_follows = false;
  state_->all_or_nothing([&] { state_->read_whole(); });
}

source::FileId Document::file() const { return state_->file; }
std::string_view Document::text() const { return state_->buffer().text(); }
const ParseResult& Document::result() const { return state_->result; }
const source::Diagnostics& Document::diagnostics() const { return state_->diagnostics; }
std::shared_ptr<ir::Context> Document::context() const { return state_->ctx; }
ReadScope Document::last_read() const { return state_->scope; }

void Document::update(std::string_view text) {
  const std::string before(this->text());
  const std::vector<TextReplacement> edits = edits_between(before, text);
  state_->begin_scope();
  for (std::size_t i = edits.size(); i-- > 0;) state_->replace(edits[i].begin, edits[i].end, edits[i].text);
}

TextIndex Document::index() const {
  State& s = *state_;
  // Between an edit that cannot be read and the next one, the tree is that of an older text.
  if (!s.live_follows || s.read_text) return TextIndex::of(text());
  cst::Tree tree = s.live.copy(s.file, s.tree_options());
  tree.text = text();
  return index_of({std::move(tree), {}});
}

std::vector<Document::ReadFunction> Document::functions() const {
  std::vector<ReadFunction> out;
  const State& s = *state_;
  if (s.reader && !s.read_text)
    for (const script::ModuleState& module : s.reader->modules)
      for (const Member& m : module.members)
        if (!m.gone) out.push_back({m.name, m.function, m.span, m.broken});
  if (s.is_lone()) return out;
  for (const ParsedItem& item : s.result.items)
    if (item.kind == ItemKind::Function) out.push_back({item.name, item.function, item.span, item.broken});
  return out;
}

}  // namespace rldb::frontend
