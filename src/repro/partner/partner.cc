// The side of rldb: starts the broker, writes modules and arguments to files, reads answers.
#include "rldb/repro/partner.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <poll.h>
#include <signal.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <atomic>
#include <cerrno>
#include <chrono>
#include <cmath>
#include <filesystem>
#include <nlohmann/json.hpp>

#include "repro/json_number.h"
#include "repro/partner/broker.h"
#include "rldb/ir/printer.h"
#include "rldb/runtime/tensor_file.h"
#include "rldb/support/cancel.h"
#include "rldb/support/file.h"
#include "rldb/support/file_system.h"
#include "rldb/support/folder.h"
#include "rldb/support/json_document.h"

namespace rldb::repro {

using nlohmann::json;
using runtime::Value;
using runtime::ValueKind;

namespace {

constexpr double kForBroker = 5;  // seconds beyond the command's own limits
constexpr std::size_t kMostShown = 200;
constexpr std::size_t kMostOfProcess = 1'000'000;  // questions with numbers of their own

::sockaddr_un address_of(const std::string& folder) {
  ::sockaddr_un address{};
  address.sun_family = AF_UNIX;
  const std::string path = folder + "/socket";
  path.copy(address.sun_path, sizeof address.sun_path - 1);
  return address;
}

// Listening; -1: errno tells why.
int listen_at(const std::string& folder) {
  const ::sockaddr_un address = address_of(folder);
  const int fd = ::socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0);
  if (fd < 0) return -1;
  if (::bind(fd, reinterpret_cast<const ::sockaddr*>(&address), sizeof address) == 0 && ::listen(fd, 256) == 0)
    return fd;
  ::close(fd);
  return -1;
}

// An argument in the form of a recorded run; tensors go to the archive under the number of their place.
std::optional<json> written(const Value& v, runtime::NamedTensors& archive) {
  switch (v.kind()) {
    case ValueKind::Tensor: {
      const std::string name = std::to_string(archive.size());
      archive.emplace_back(name, v);
      return json{
          {"tensor", v.as_tensor().shape()}, {"dtype", runtime::to_string(v.as_tensor().dtype())}, {"npz", name}};
    }
    case ValueKind::Shape:
      return json{{"shape", v.as_shape()}};
    case ValueKind::Int:
      return json(v.as_int());
    case ValueKind::Float:
      return std::isfinite(v.as_float()) ? json(v.as_float()) : json{{"float", json_number(v.as_float())}};
    case ValueKind::Bool:
      return json(v.as_int() != 0);
    case ValueKind::Tuple: {
      json fields = json::array();
      for (const Value& field : v.as_tuple().fields) {
        auto one = written(field, archive);
        if (!one) return std::nullopt;
        fields.push_back(*std::move(one));
      }
      return json{{"tuple", fields}};
    }
    case ValueKind::Null:
    case ValueKind::DType:
    case ValueKind::String:
    case ValueKind::Function:
    case ValueKind::Storage:
    case ValueKind::Object:
      break;
  }
  return std::nullopt;
}

std::string text_at(const json& j, const char* key) {
  return j.contains(key) && j[key].is_string() ? j[key].get<std::string>() : std::string();
}

PartnerAnswer useless(std::string why) {
  PartnerAnswer a;
  a.text = std::move(why);
  return a;
}

// Members "0", "1", ... are the leaves in order.
bool read_results(const std::string& path, PartnerAnswer& answer) {
  auto bytes = support::read_regular_file(path);
  if (!bytes.ok()) {
    answer = useless(fmt::format("the file of its results, `{}`: {}", path, bytes.error().reason));
    return false;
  }
  auto read = runtime::read_npz(*bytes, path);
  if (!read.ok()) {
    answer = useless(read.error().message);
    return false;
  }
  for (std::size_t i = 0; i < read->size(); ++i) {
    const std::string name = std::to_string(i);
    const auto it = std::find_if(read->begin(), read->end(), [&](const auto& member) { return member.first == name; });
    if (it == read->end()) {
      answer = useless(fmt::format("the file of its results has {} members and none is `{}`", read->size(), name));
      return false;
    }
    answer.results.push_back(it->second);
  }
  return true;
}

PartnerAnswer read_answer(const std::string& line, std::size_t id) {
  const auto read = support::read_json(line);
  PartnerAnswer a;
  if (!read.ok() || !(*read)->is_object())
    return useless("its answer is not an object in JSON: " + line.substr(0, kMostShown));
  const json& j = **read;
  if (!j.contains("id") || j["id"] != id)
    return useless(fmt::format("its answer lacks the `id` of the question, {}: {}", id, line.substr(0, kMostShown)));
  a.pass = text_at(j, "pass");
  if (j.contains("outputs") && j["outputs"].is_string()) {
    a.kind = PartnerAnswer::Kind::Results;
    read_results(j["outputs"].get<std::string>(), a);
  } else if (j.contains("failed") && j["failed"].is_string()) {
    a.kind = PartnerAnswer::Kind::Failed;
    a.text = j["failed"].get<std::string>();
  } else if (j.contains("refused") && j["refused"].is_string()) {
    a.kind = PartnerAnswer::Kind::Refused;
    a.text = j["refused"].get<std::string>();
  } else if (j.contains("fault") && j["fault"].is_boolean()) {
    a.kind = PartnerAnswer::Kind::Verdict;
    a.fault = j["fault"].get<bool>();
    a.text = text_at(j, "text");
  } else {
    a = useless("its answer has none of `outputs`, `failed`, `refused`, `fault`: " + line.substr(0, kMostShown));
  }
  return a;
}

PartnerAnswer answer_of(const std::string& from_broker, std::size_t id) {
  const auto read = support::read_json(from_broker);
  PartnerAnswer a;
  if (!read.ok() || !(*read)->is_object()) return useless("the process that supervises it has ended");
  const json& j = **read;
  if (j.contains("line")) return read_answer(j["line"].get<std::string>(), id);
  if (j.contains("ended")) {
    a.kind = PartnerAnswer::Kind::Ended;
    a.text = j["ended"].get<std::string>();
    a.signal = j["signal"].get<int>();
  } else if (j.contains("too_long")) {
    a.kind = PartnerAnswer::Kind::TooLong;
    a.text = fmt::format("no answer within {} s", j["too_long"].get<double>());
  } else {
    a.text = text_at(j, "useless");
  }
  return a;
}

}  // namespace

std::unique_ptr<Partner> Partner::start(const PartnerOptions& options, std::string& why) {
  std::unique_ptr<Partner> p(new Partner(options));
  p->owner_ = ::getpid();
  p->folder_ = support::new_temporary_folder("partner");
  int ends[2] = {-1, -1};
  const int listener = p->folder_.empty() ? -1 : listen_at(p->folder_);
  if (listener < 0 || ::pipe2(ends, O_CLOEXEC) != 0) {
    why = support::error_text(errno);
    if (listener >= 0) ::close(listener);
    return nullptr;
  }
  std::fflush(nullptr);  // unwritten output belongs to this process
  p->broker_ = ::fork();
  if (p->broker_ == 0) {
    ::setpgid(0, 0);
    ::close(ends[1]);
    serve_partner(options, listener, ends[0]);
    ::_exit(0);
  }
  if (p->broker_ < 0) why = support::error_text(errno);
  ::close(listener);
  ::close(ends[0]);
  p->lifeline_ = ends[1];
  if (!why.empty()) return nullptr;
  const auto read = support::read_json(p->exchange("", options.start_seconds));
  const bool heard = read.ok() && (*read)->is_object();
  if (heard && (*read)->contains("greeting")) {
    p->name_ = (**read)["greeting"].get<std::string>();
    return p;
  }
  why = heard ? text_at(**read, "useless") : std::string("the process that supervises it has ended");
  return nullptr;
}

Partner::~Partner() {
  if (lifeline_ >= 0) ::close(lifeline_);
  if (::getpid() != owner_) return;
  // Children of this process may still hold the other end of the lifeline.
  if (broker_ > 0) ::kill(broker_, SIGTERM);
  if (broker_ > 0) ::waitpid(broker_, nullptr, 0);
  std::error_code ignored;
  if (!folder_.empty()) std::filesystem::remove_all(folder_, ignored);
}

// One line there and one back; empty: there is no broker.
std::string Partner::exchange(std::string_view line, double seconds) const {
  using Clock = std::chrono::steady_clock;
  const ::sockaddr_un address = address_of(folder_);
  const int fd = ::socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0);
  struct Closed {
    int fd;
    ~Closed() {
      if (fd >= 0) ::close(fd);
    }
  } closed{fd};
  if (fd < 0 || ::connect(fd, reinterpret_cast<const ::sockaddr*>(&address), sizeof address) != 0) return {};
  if (support::write_all(fd, std::string(line) + "\n") != 0) return {};
  std::string text;
  const auto until = Clock::now() + std::chrono::milliseconds(std::int64_t((seconds + kForBroker) * 1000));
  while (Clock::now() < until) {
    support::poll();
    ::pollfd wait{fd, POLLIN, 0};
    if (::poll(&wait, 1, 50) <= 0) continue;
    char buffer[4096];
    const ssize_t n = ::read(fd, buffer, sizeof buffer);
    if (n <= 0) break;
    text.append(buffer, std::size_t(n));
  }
  return text;
}

PartnerAnswer Partner::ask(const PartnerQuestion& q) const {
  static std::atomic<std::size_t> last{0};
  const std::size_t id = std::size_t(::getpid()) * kMostOfProcess + ++last % kMostOfProcess;
  const support::TemporaryFolder folder("question");
  if (folder.path().empty()) return useless("there is no folder for the question");
  ir::PrintOptions print;
  print.show_meta = true;
  json request{{"id", id}, {"module", folder.path() + "/module.py"}, {"function", q.function}};
  bool fine =
      support::write_file(folder.path() + "/module.py", ir::print(q.module, print) + "\n", support::Durable::No).ok();
  if (!q.passes.empty()) request["passes"] = q.passes;
  if (!q.ir_folder.empty()) request["ir"] = q.ir_folder;
  if (q.arguments) {
    runtime::NamedTensors archive;
    const auto arguments = written(Value::of_tuple(*q.arguments), archive);
    if (arguments) {
      request["arguments"] = (*arguments)["tuple"];
      request["inputs"] = folder.path() + "/inputs.npz";
      request["outputs"] = folder.path() + "/outputs.npz";
      fine = fine &&
             support::write_file(folder.path() + "/inputs.npz", runtime::write_npz(archive), support::Durable::No).ok();
    }
  }
  if (!fine) return useless("the files of the question cannot be written");
  // Processes may be busy with answers that nobody waits for any more, and one may have to start.
  return answer_of(exchange(request.dump(), 2 * options_.seconds + options_.start_seconds), id);
}

}  // namespace rldb::repro
