// Processes and cores that the debugger looks into: attach, detach.
#include <elf.h>
#include <fmt/format.h>

#include <charconv>

#include "rldb/attach/attach.h"
#include "rldb/debug/foreign_run.h"
#include "rldb/runtime/library_data.h"
#include "rldb/source/diagnostic_attach.h"
#include "rldb/support/file.h"
#include "rldb/ui/prompt/data.h"
#include "rldb/ui/prompt/state.h"
#include "ui/prompt/commands/handlers.h"
#include "ui/prompt/view.h"

namespace rldb::ui {

namespace {

std::shared_ptr<attach::Attached> present_attachment(Repl& repl) {
  if (!repl.session().program()) return nullptr;
  source::Diagnostics ignored;
  const auto build = repl.session().viewable(ignored);
  return build ? attach::attached_to(*build->program) : nullptr;
}

Json attached_json(attach::Attached& attached) {
  Json threads = Json::array();
  for (const attach::ThreadInfo& t : attached.threads())
    threads.push_back({{"id", t.id}, {"function", t.function}, {"pc", t.pc.value()}, {"current", t.current}});
  return {{"name", attached.name()}, {"library", attached.library()}, {"threads", std::move(threads)}};
}

// The binding that the thread is at.
std::string place_of(const attach::Attached& attached, const attach::ThreadInfo& t) {
  const bytecode::Executable& exe = *attached.build()->executable;
  const bytecode::InstructionDebug* row = exe.debug.instruction(t.pc);
  const std::string at = row && !row->variable.empty() ? fmt::format("{}:{}", t.function, row->variable) : t.function;
  if (!row || row->location.file == 0) return at;
  return fmt::format("{} ({}:{})", at, exe.debug.file(row->location), row->location.line);
}

Status list_threads(Repl& repl) {
  const auto attached = present_attachment(repl);
  if (!attached) return repl.fail(source::message(diag::NotAttached));
  if (repl.wants_json()) return repl.give(attached_json(*attached));
  repl.print("{}: {}\n", attached->name(), attached->library());
  for (const attach::ThreadInfo& t : attached->threads())
    repl.print("{} thread {}: {}, instruction {}\n", t.current ? "=>" : "  ", t.id, place_of(*attached, t), t.pc);
  return Status::Good;
}

Status select_thread(Repl& repl, std::string_view number) {
  const auto attached = present_attachment(repl);
  if (!attached) return repl.fail(source::message(diag::NotAttached));
  std::int64_t thread = 0;
  const char* end = number.data() + number.size();
  if (std::from_chars(number.data(), end, thread).ptr != end) return Status::Usage;
  if (!attached->select(thread)) return repl.fail(source::message(diag::NoSuchThread, thread));
  return repl.show_stop(debug::look_again(repl.debugger()));
}

// A library or program by its file, of which nothing runs: an ELF file, and no core.
bool is_library(const std::string& path) {
  constexpr std::size_t kHead = EI_NIDENT + 2;
  const std::string head = support::first_bytes(path, kHead);
  return head.size() == kHead && runtime::is_library_file(head) && head[EI_NIDENT] != ET_CORE;
}

}  // namespace

Status command_Attach(Repl& repl, std::string_view rest) {
  // A path may have blanks in it.
  const std::string whole(rest);
  const std::vector<std::string> words =
      support::file_exists(whole) ? std::vector<std::string>{whole} : split_words(rest);
  if (words.empty()) return list_threads(repl);
  if (words.size() > 2) return repl.fail(source::message(diag::AttachNotFound, whole));
  if (words.size() == 2 && words[0] == "thread") return select_thread(repl, words[1]);
  if (!repl.may("attach to a process", rest)) return Status::Failed;
  if (is_library(words[0])) return repl.perform(":load " + words[0]);
  if (!repl.may_end_run("attaching to a process")) return Status::Failed;
  if (const auto before = present_attachment(repl)) {
    repl.debugger().kill();
    before->detach();
  }
  source::Diagnostics diagnostics;
  const auto attached = attach::attach(words[0], words.size() > 1 ? words[1] : "", repl.session(), diagnostics);
  repl.report(diagnostics);
  if (!attached) return Status::Failed;
  repl.debugger().kill();
  repl.session().set_program(attach::program_of(attached, repl.session()));
  repl.begin_run();
  const debug::StopReport stop = debug::show_foreign(repl.debugger(), attached->build());
  if (!repl.wants_json()) repl.print("attached to {}: {}\n", attached->name(), attached->library());
  if (attached->threads().empty()) {
    source::Diagnostics idle;
    idle.add({}, source::message(diag::AttachIdle));
    repl.report(idle);
    return repl.wants_json() ? repl.give(attached_json(*attached)) : Status::Good;
  }
  const Status status = repl.show_stop(stop);
  return stop.kind == debug::StopKind::Fault ? Status::Good : status;  // the end of a core is its place
}

Status command_Detach(Repl& repl, std::string_view rest) {
  if (!rest.empty()) return Status::Usage;
  const auto attached = present_attachment(repl);
  if (!attached) return repl.fail(source::message(diag::NotAttached));
  const std::string name = attached->name();
  repl.debugger().kill();
  attached->detach();
  repl.begin_run();
  repl.print("detached from {}\n", name);
  return Status::Good;
}

}  // namespace rldb::ui
