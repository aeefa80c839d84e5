// Finding what a target means, and which library of it.
#include "rldb/attach/attach.h"

#include <fmt/format.h>
#include <signal.h>

#include <algorithm>
#include <cerrno>
#include <charconv>

#include "attach/core.h"
#include "attach/process.h"
#include "rldb/source/diagnostic_attach.h"
#include "rldb/source/diagnostic_file.h"
#include "rldb/support/file.h"

namespace rldb::attach {

namespace {

constexpr std::size_t kMostCore = std::size_t(64) << 30;

using Others = std::vector<std::string>;

std::string_view file_name(std::string_view path) { return path.substr(path.rfind('/') + 1); }

std::vector<LiveThread> live_threads(pid_t process, const Mappings& mappings) {
  std::vector<LiveThread> threads;
  for (const pid_t thread : threads_of(process)) {
    LiveThread t{own_id(process, thread), stack_pointer_of(process, thread), 0};
    if (const Mapping* m = mapping_at(mappings, t.stack)) t.stack_end = m->end;
    threads.push_back(t);
  }
  return threads;
}

// The library that is asked for, else the first that runs, that has run, or that is there. Nullopt: diagnosed.
std::optional<Image> choose(const Memory& memory, const Mappings& mappings, const std::vector<LiveThread>& threads,
                            const std::string& name, std::string_view wanted, std::string more, Others& others,
                            source::Diagnostics& out) {
  std::string problem;
  std::vector<Image> images = find_images(memory, mappings, problem);
  if (images.empty()) {
    // A file that is gone is named already.
    if (!problem.empty() && more.find(problem.substr(0, problem.find(": "))) == std::string::npos)
      more += ": " + problem;
    out.add({}, source::message(diag::AttachNoLibrary, name, more));
    return std::nullopt;
  }
  const auto find = [&](auto good) { return std::find_if(images.begin(), images.end(), good); };
  auto it = images.end();
  const auto runs = [&](const Image& i) {
    Stacks stacks(memory, i);
    stacks.recognise(threads);
    return !stacks.all().empty();
  };
  if (wanted.empty())
    it = find(runs);
  else
    it = find([&](const Image& i) { return i.path == wanted || file_name(i.path) == wanted; });
  if (it == images.end() && !wanted.empty()) {
    out.add({}, source::message(diag::AttachNoSuchLibrary, name, wanted));
    return std::nullopt;
  }
  if (it == images.end()) it = find([&](const Image& i) { return Stacks(memory, i).was_called(); });
  if (it == images.end()) it = images.begin();
  for (const Image& i : images)
    if (&i != &*it) others.push_back(i.path);
  return std::move(*it);
}

std::shared_ptr<Foreign> linked(std::shared_ptr<Foreign> made, const std::string& target, session::Session& session,
                                source::Diagnostics& out) {
  if (!made->link(session, out)) return nullptr;
  std::vector<std::string> names;
  for (const std::string& path : made->other_libraries()) names.push_back(fmt::format("`{}`", file_name(path)));
  if (!names.empty())
    out.add({}, source::message(diag::AttachOtherLibraries, made->name(), fmt::format("{}", fmt::join(names, ", ")),
                                target));
  return made;
}

std::shared_ptr<Foreign> attach_process(pid_t given, const std::string& target, std::string_view library,
                                        session::Session& session, source::Diagnostics& out) {
  const pid_t process = process_of(given);  // a thread of it may have been named
  if (::kill(process, 0) != 0 && errno == ESRCH) {
    out.add({}, source::message(diag::AttachNoProcess, process));
    return nullptr;
  }
  if (process == ::getpid()) {
    out.add({}, source::message(diag::AttachRefused, process, "it is this rldb"));
    return nullptr;
  }
  auto thread = std::make_unique<TracingThread>();
  auto tracer = std::make_unique<Tracer>(process);
  std::string why;
  thread->run([&] { why = tracer->attach(); });
  const std::string name = fmt::format("process {}", process);
  Others others;
  std::optional<Image> image;
  std::vector<LiveThread> threads;
  if (why.empty()) {
    const Mappings mappings = mappings_of(process);
    threads = live_threads(process, mappings);
    image = choose(ProcessMemory(process), mappings, threads, name, library, {}, others, out);
  } else {
    out.add({}, source::message(diag::AttachRefused, process, why));
  }
  if (!image) {
    thread->run([&] { tracer.reset(); });
    return nullptr;
  }
  return linked(
      std::make_shared<Process>(process, std::move(thread), std::move(tracer), std::move(*image), others, threads),
      target, session, out);
}

std::shared_ptr<Foreign> attach_core(const std::string& path, std::string_view library, session::Session& session,
                                     source::Diagnostics& out) {
  auto bytes = support::read_file(path, kMostCore);
  if (!bytes.ok()) {
    out.add({}, source::message(diag::FileNotFound, path, bytes.error().reason));
    return nullptr;
  }
  std::string problem;
  auto core = read_core(std::make_shared<const std::string>(std::move(bytes).value()), problem);
  if (!core) {
    out.add({}, source::message(diag::AttachNotACore, path, problem));
    return nullptr;
  }
  std::string more;
  if (core->is_cut)
    more = ": it is cut short";
  else if (!core->missing.empty())
    more = fmt::format(" that can be read; `{}` is not there any more", core->missing.front());
  Others others;
  auto image =
      choose(*core->memory, core->mappings, core->threads, fmt::format("`{}`", path), library, more, others, out);
  if (!image) return nullptr;
  return linked(std::make_shared<Core>(path, std::move(*core), std::move(*image), others), path, session, out);
}

}  // namespace

std::shared_ptr<Attached> attach(const std::string& target, std::string_view library, session::Session& session,
                                 source::Diagnostics& out) {
  pid_t process = 0;
  const char* end = target.data() + target.size();
  const auto [read, error] = std::from_chars(target.data(), end, process);
  if (error == std::errc() && read == end && process > 0 && !support::file_exists(target))
    return attach_process(process, target, library, session, out);
  if (support::file_exists(target)) return attach_core(target, library, session, out);
  const bool number = !target.empty() && std::all_of(target.begin(), target.end(), ::isdigit);
  out.add({}, number ? source::message(diag::AttachNoProcess, target) : source::message(diag::AttachNotFound, target));
  return nullptr;
}

}  // namespace rldb::attach
