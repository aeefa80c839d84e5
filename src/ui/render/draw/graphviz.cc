// Writes graphs as numbers to a child process, which lays them out, and reads the positions.
#include "ui/render/draw/graphviz.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <poll.h>
#include <signal.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <charconv>
#include <chrono>
#include <cmath>
#include <cstdint>
#include <cstdio>
#include <cstring>
#include <string_view>

#include "rldb/support/cancel.h"
#include "ui/render/draw/graphviz_library.h"

namespace rldb::ui {

namespace {

constexpr double kStartSeconds = 10;
constexpr rlim_t kMostSeconds = 60;             // of the processor, for all graphs of a child
constexpr rlim_t kMostBytes = rlim_t(2) << 30;  // besides those that the process has already
constexpr double kPointsPerInch = 72;
constexpr std::size_t kLarge = 500;  // nodes, from which crossings are searched for less long
constexpr char kLaidOut = '+', kRefused = '-';

std::string layout_request(const std::vector<LayerNode>& nodes, double height, double row, double gap) {
  std::string dot = fmt::format(
      "digraph {{ nodesep={:.4f}; ranksep={:.4f};{} node [shape=box, label=\"\", fixedsize=true, height={:.4f}]; "
      "edge [arrowhead=none];\n",
      gap / kPointsPerInch, (row - height) / kPointsPerInch,
      nodes.size() > kLarge ? " nslimit=0.1; nslimit1=0.1; mclimit=0.2;" : "", height / kPointsPerInch);
  std::size_t edges = 0;
  for (std::size_t i = 0; i < nodes.size(); ++i) {
    dot += fmt::format("{} [width={:.4f}];\n", i, nodes[i].width / kPointsPerInch);
    for (const int from : nodes[i].inputs) dot += fmt::format("{} -> {} [id={}];\n", from, i, edges++);
  }
  return dot + "}\n";
}

// False: the other side has ended, which is no signal here.
bool send_text(int to, std::string_view text) {
  const std::uint64_t size = text.size();
  const std::string bytes = std::string(reinterpret_cast<const char*>(&size), sizeof size).append(text);
  for (std::size_t sent = 0; sent < bytes.size();) {
    const ssize_t n = ::send(to, bytes.data() + sent, bytes.size() - sent, MSG_NOSIGNAL);
    if (n < 0 && errno == EINTR) continue;
    if (n <= 0) return false;
    sent += std::size_t(n);
  }
  return true;
}

// A fork of the session: nothing of it, neither its exceptions nor its signal handlers, may act in its name.
void leave_the_session() {
  for (const int signal : {SIGSEGV, SIGBUS, SIGFPE, SIGILL, SIGABRT, SIGTERM, SIGHUP, SIGPIPE})
    ::signal(signal, SIG_DFL);
  ::signal(SIGINT, SIG_IGN);  // ^C is for the session, which ends this process
  ::prctl(PR_SET_PDEATHSIG, SIGKILL);
  const rlimit cpu{kMostSeconds, kMostSeconds}, no_core{0, 0};
  ::setrlimit(RLIMIT_CPU, &cpu);
  ::setrlimit(RLIMIT_CORE, &no_core);
  std::size_t pages = 0;
  if (std::FILE* sizes = std::fopen("/proc/self/statm", "r")) {
    if (std::fscanf(sizes, "%zu", &pages) != 1) pages = 0;
    std::fclose(sizes);
  }
  const rlim_t most = rlim_t(pages) * rlim_t(::sysconf(_SC_PAGESIZE)) + kMostBytes;
  const rlimit memory{most, most};
  if (pages > 0) ::setrlimit(RLIMIT_AS, &memory);
  // The library writes warnings of its own.
  if (const int null = ::open("/dev/null", O_RDWR); null >= 0)
    for (const int stream : {STDIN_FILENO, STDOUT_FILENO, STDERR_FILENO}) ::dup2(null, stream);
}

bool read_exactly(int from, char* at, std::size_t size) {
  while (size > 0) {
    const ssize_t n = ::read(from, at, size);
    if (n < 0 && errno == EINTR) continue;
    if (n <= 0) return false;
    at += n;
    size -= std::size_t(n);
  }
  return true;
}

[[noreturn]] void lay_out_in_child(int session) noexcept {
  leave_the_session();
  // The first answer is to no request: that the library is there.
  const auto answer = [&](const std::string& dot) {
    std::string text;
    const bool good = graphviz_positions(dot, text);
    text.insert(text.begin(), good ? kLaidOut : kRefused);
    return send_text(session, good ? text + "end\n" : text);
  };
  if (!answer("digraph { 0 }")) ::_exit(0);
  std::uint64_t size = 0;
  while (read_exactly(session, reinterpret_cast<char*>(&size), sizeof size)) {
    std::string dot(size, ' ');
    if (!read_exactly(session, dot.data(), dot.size()) || !answer(dot)) break;
  }
  ::_exit(0);
}

}  // namespace

class LayoutChild {
 public:
  LayoutChild() {
    int ends[2];
    if (::socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, ends) != 0) return;
    child_ = ends[0];
    std::fflush(nullptr);
    pid_ = ::fork();
    if (pid_ == 0) {
      ::close(child_);  // the child ends when the session has closed it
      lay_out_in_child(ends[1]);
    }
    ::close(ends[1]);
  }
  ~LayoutChild() {
    if (child_ >= 0) ::close(child_);
    if (pid_ <= 0) return;
    ::kill(pid_, SIGKILL);
    while (::waitpid(pid_, nullptr, 0) < 0 && errno == EINTR) continue;
  }
  LayoutChild(const LayoutChild&) = delete;
  LayoutChild& operator=(const LayoutChild&) = delete;

  // It reads before it writes, and it reads everything: this does not wait for long. False: it has ended.
  bool send(const std::string& request) { return pid_ > 0 && send_text(child_, request); }
  // Nothing: the time is over. Empty: it has ended.
  std::optional<std::string> answer(double seconds) {
    using Clock = std::chrono::steady_clock;
    const auto until = Clock::now() + std::chrono::duration<double>(seconds);
    std::string bytes;
    std::uint64_t size = 0;
    while (bytes.size() < sizeof size || bytes.size() - sizeof size < size) {
      support::poll();
      if (Clock::now() > until) return std::nullopt;
      ::pollfd ready{child_, POLLIN, 0};
      if (::poll(&ready, 1, 20) <= 0) continue;
      char buffer[1 << 14];
      const ssize_t n = ::read(child_, buffer, sizeof buffer);
      if (n < 0 && errno == EINTR) continue;
      if (n <= 0) return std::string();
      bytes.append(buffer, std::size_t(n));
      if (bytes.size() >= sizeof size) std::memcpy(&size, bytes.data(), sizeof size);
    }
    return bytes.substr(sizeof size);
  }

 private:
  pid_t pid_ = -1;
  int child_ = -1;  // the way to it and back
};

namespace {

// Takes the next number of a line; `,` and blanks separate them.
bool take_number(std::string_view& line, double& number) {
  while (!line.empty() && (line.front() == ' ' || line.front() == ',')) line.remove_prefix(1);
  const auto [end, error] = std::from_chars(line.data(), line.data() + line.size(), number);
  if (error != std::errc() || !std::isfinite(number)) return false;
  line.remove_prefix(std::size_t(end - line.data()));
  return true;
}

// The answer of the child as a layout: y downwards, nodes by the middle of their top edges.
class PositionReader {
 public:
  PositionReader(const std::vector<LayerNode>& nodes, double height, double row)
      : nodes_(nodes), height_(height), row_(row) {
    out_.curved = true;
    out_.places.resize(nodes.size());
    out_.edges.resize(nodes.size());
    seen_.resize(nodes.size());
    for (std::size_t i = 0; i < nodes.size(); ++i) {
      out_.edges[i].resize(nodes[i].inputs.size());
      for (std::size_t k = 0; k < nodes[i].inputs.size(); ++k) edges_.emplace_back(i, k);
    }
  }

  std::optional<LayerLayout> read(std::string_view text) {
    bool ended = false;
    while (!text.empty()) {
      const auto stop = std::min(text.find('\n'), text.size());
      std::string_view line = text.substr(0, stop);
      text.remove_prefix(std::min(stop + 1, text.size()));
      if (line == "end") ended = true;
      const auto word = line.substr(0, line.find(' '));
      line.remove_prefix(std::min(word.size() + 1, line.size()));
      if (word == "box" && !take_box(line)) return std::nullopt;
      if (word == "node" && !take_node(line)) return std::nullopt;
      if (word == "edge" && !take_edge(line)) return std::nullopt;
    }
    if (!ended || std::find(seen_.begin(), seen_.end(), false) != seen_.end()) return std::nullopt;
    return join_ends() ? std::optional(std::move(out_)) : std::nullopt;
  }

 private:
  bool take_box(std::string_view line) {
    double left = 0, bottom = 0;
    return take_number(line, left) && take_number(line, bottom) && take_number(line, out_.width) &&
           take_number(line, out_.height);
  }
  bool take_place(std::string_view& line, LayerLayout::Place& place) const {
    if (!take_number(line, place.x) || !take_number(line, place.y)) return false;
    place.y = out_.height - place.y;
    return true;
  }
  // Positions have five digits. Those of nodes are in rows, so theirs are known exactly.
  bool take_node(std::string_view line) {
    double number = 0;
    LayerLayout::Place place;
    if (!take_number(line, number) || number < 0 || number >= double(nodes_.size()) || !take_place(line, place))
      return false;
    place.y = std::round((place.y - height_ / 2) / row_) * row_;
    out_.places[std::size_t(number)] = place;
    seen_[std::size_t(number)] = true;
    return true;
  }
  bool take_edge(std::string_view line) {
    double id = 0;
    if (!take_number(line, id) || id < 0 || id >= double(edges_.size())) return false;
    const auto [node, input] = edges_[std::size_t(id)];
    auto& points = out_.edges[node][input];
    for (LayerLayout::Place place; take_place(line, place);) points.push_back(place);
    return points.size() >= 4 && points.size() % 3 == 1;
  }
  // Edges begin and end at the boxes also where five digits are too few.
  bool join_ends() {
    for (const auto& [node, input] : edges_) {
      auto& points = out_.edges[node][input];
      if (points.empty()) return false;
      points.front().y = out_.places[std::size_t(nodes_[node].inputs[input])].y + height_;
      points.back().y = out_.places[node].y;
    }
    return true;
  }

  const std::vector<LayerNode>& nodes_;
  double height_, row_;
  std::vector<std::pair<std::size_t, std::size_t>> edges_;  // by id: node, number of the input
  std::vector<bool> seen_;
  LayerLayout out_;
};

}  // namespace

Graphviz::Graphviz() = default;
Graphviz::~Graphviz() = default;

// The time that a graph is given begins when the process is ready for it.
std::unique_ptr<LayoutChild> Graphviz::begin(std::string& why) {
  auto child = std::make_unique<LayoutChild>();
  const auto first = child->answer(kStartSeconds);
  if (first && first->starts_with(kLaidOut)) return child;
  why = "Graphviz does not start";
  if (first && first->starts_with(kRefused)) why = refusal_ = first->substr(1);
  return nullptr;
}

std::optional<LayerLayout> Graphviz::layout(const std::vector<LayerNode>& nodes, double height, double row, double gap,
                                            double seconds, std::string& why) {
  out_of_time_ = false;
  if (nodes.empty()) return LayerLayout{};
  why = refusal_;
  if (!why.empty()) return std::nullopt;
  // Kept for the next graph only if all goes well: otherwise it may still be at work on this one.
  std::unique_ptr<LayoutChild> child = child_ ? std::move(child_) : begin(why);
  if (!child) return std::nullopt;
  const std::string request = layout_request(nodes, height, row, gap);
  if (!child->send(request)) {  // it was ended between two graphs
    child = begin(why);
    if (child && !child->send(request)) why = "Graphviz failed";
    if (!why.empty()) return std::nullopt;
  }
  const auto answer = child->answer(seconds);
  if (!answer) {
    why = fmt::format("Graphviz needs more than {:.2g} s", seconds);
    out_of_time_ = true;
    return std::nullopt;
  }
  if (answer->starts_with(kRefused)) {
    why = answer->substr(1);
    return std::nullopt;
  }
  auto layout =
      answer->starts_with(kLaidOut) ? PositionReader(nodes, height, row).read(answer->substr(1)) : std::nullopt;
  if (!layout)
    why = "Graphviz failed";
  else
    child_ = std::move(child);
  return layout;
}

}  // namespace rldb::ui
