// rldb print FILE: canonical text, or the listing of an executable.  rldb diff A B: structural equality.
#include <fmt/format.h>
#include <unistd.h>

#include "rldb/ir/equal.h"
#include "rldb/ir/printer.h"
#include "rldb/relay/ir/equal.h"
#include "rldb/session/relay_text.h"
#include "rldb/source/diagnostic_general.h"
#include "rldb/source/diagnostic_program.h"
#include "rldb/source/diagnostic_result.h"
#include "rldb/ui/batch/batch.h"
#include "rldb/ui/render/text_diff.h"

namespace rldb::ui {

int batch_print(const CommandLine& line, Console& console) {
  auto session = open_session(line, console);
  if (!session) return kUsage;
  if (const int code = load(*session, line.files[0], line, console); code != kGood) return code;
  const session::Program& program = *session->program();
  if (!has_abilities(program.kind(), session::kText)) return print_listing(*session, line, console);
  source::Diagnostics diagnostics;
  if (session->module())
    for (const std::string& gap : ir::unsayable(session->module(), line.options.print.syntax))
      diagnostics.add({}, source::message(diag::Unsayable, gap));
  if (diagnostics.has_errors()) return fail(diagnostics, session->sources(), line, console, kFailed);
  if (const auto text = program.text(program.position(), session::TextFor::Reading, line.function)) {
    console.write(*text + "\n");
    return kGood;
  }
  diagnostics.add({}, source::message(diag::NoFunctionToRun, line.function)
                          .with_hint(fmt::format("functions: {}", fmt::join(session->function_names(), ", "))));
  return fail(diagnostics, session->sources(), line, console, kUsage);
}

namespace {

// One side of the comparison: its text, and the module.
struct Side {
  std::unique_ptr<session::Session> session;
  std::string text;
};

int read_side(const std::string& path, const CommandLine& line, Console& console, Side& side) {
  side.session = open_session(line, console);
  if (!side.session) return kUsage;
  if (const int code = load(*side.session, path, line, console); code != kGood) return code;
  const session::Program& program = *side.session->program();
  source::Diagnostics diagnostics;
  if (const auto text = program.text(0, session::TextFor::Comparing)) {
    side.text = *text;
  } else if (const auto code = side.session->viewable(diagnostics)) {
    side.text = program.listing(*code);
  } else {
    return fail(diagnostics, side.session->sources(), line, console, kFailed);
  }
  return kGood;
}

struct FirstDifference {
  std::string path, left, right;
};
template <class Difference>
std::optional<FirstDifference> found(const Difference& d) {
  if (!d) return std::nullopt;
  return FirstDifference{d->path, d->left, d->right};
}

// Of two programs of one kind: executables differ where their listings do.
std::optional<FirstDifference> first_difference(const Side& a, const Side& b) {
  if (a.session->module()) return found(ir::first_difference(a.session->module(), b.session->module()));
  if (const session::RelayText* relay = session::relay_text(a.session->program()))
    return found(relay::first_difference(relay->module(), session::relay_text(b.session->program())->module()));
  if (a.text == b.text) return std::nullopt;
  return FirstDifference{};
}

}  // namespace

int batch_diff(const CommandLine& line, Console& console) {
  Side a, b;
  if (const int code = read_side(line.files[0], line, console, a); code != kGood) return code;
  if (const int code = read_side(line.files[1], line, console, b); code != kGood) return code;
  const auto kind = a.session->program()->kind(), other = b.session->program()->kind();
  if (kind != other) {
    source::Diagnostics diagnostics;
    diagnostics.add(
        {}, source::message(diag::KindsDiffer, line.files[0], to_string(kind), line.files[1], to_string(other)));
    return fail(diagnostics, a.session->sources(), line, console, kBadText);
  }
  const auto difference = first_difference(a, b);
  if (!difference) return kGood;
  if (!difference->path.empty())
    console.print("first difference at {}\n  {}: {}\n  {}: {}\n", difference->path, line.files[0], difference->left,
                  line.files[1], difference->right);
  console.write(text_diff(a.text, b.text, line.files[0], line.files[1], diff_options(line, console, STDOUT_FILENO)));
  return kFailed;
}

}  // namespace rldb::ui
