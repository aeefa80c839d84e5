// One loop over the clients and the processes of the command.
#include "repro/partner/broker.h"

#include <fmt/format.h>
#include <poll.h>
#include <signal.h>
#include <sys/socket.h>
#include <unistd.h>

#include <algorithm>
#include <csignal>
#include <cstring>
#include <functional>
#include <list>
#include <nlohmann/json.hpp>

#include "repro/partner/worker.h"
#include "rldb/support/file_system.h"
#include "rldb/support/json_document.h"

namespace rldb::repro {

using nlohmann::json;

namespace {

constexpr std::size_t kMostOfRequest = 1 << 15;  // bytes: within a pipe's buffer
constexpr int kLook = 100;                       // milliseconds between looks at the time limits

struct Client {
  int fd = -1;
  std::string text;
  PartnerProcess* at = nullptr;  // that works for it
  bool is_whole() const { return text.ends_with('\n'); }
};

volatile std::sig_atomic_t g_end_of_broker = 0;

class Broker {
 public:
  Broker(const PartnerOptions& options, int listener, int lifeline)
      : options_(options), listener_(listener), lifeline_(lifeline) {
    for (unsigned i = 0; i < std::max(1u, options.jobs); ++i) processes_.emplace_back(options_);
  }

  void run() {
    while (g_end_of_broker == 0 && wait()) {
      for (PartnerProcess& p : processes_) check_time(p);
      for (Client& c : clients_)
        if (c.fd >= 0 && c.is_whole() && !c.at) assign(c);
      std::erase_if(clients_, [](const Client& c) { return c.fd < 0; });
    }
  }

 private:
  // Handles one round of events. False: the process that started the broker has exited.
  bool wait() {
    std::vector<::pollfd> fds{{lifeline_, POLLIN, 0}, {listener_, POLLIN, 0}};
    std::vector<std::function<void()>> then{nullptr, [this] { accept_client(); }};
    const auto add = [&](int fd, std::function<void()> f) {
      if (fd < 0) return;
      fds.push_back({fd, POLLIN, 0});
      then.push_back(std::move(f));
    };
    for (Client& c : clients_) add(c.fd, [this, &c] { read_client(c); });
    for (PartnerProcess& p : processes_) {
      add(p.errors(), [&p] { p.hear_errors(); });
      add(p.out(), [this, &p, fd = p.out()] {
        if (p.out() == fd) hear(p);
      });
    }
    if (::poll(fds.data(), fds.size(), kLook) <= 0) return true;
    if (fds[0].revents != 0) return false;
    for (std::size_t i = 1; i < fds.size(); ++i)
      if (fds[i].revents != 0) then[i]();
    return true;
  }

  void accept_client() {
    const int fd = ::accept4(listener_, nullptr, nullptr, SOCK_CLOEXEC);
    if (fd >= 0) clients_.push_back({fd, {}, nullptr});
  }

  // A client that closes does not want its answer any more. The process that works for it is left to finish: starting
  // another one takes longer than most answers.
  void read_client(Client& c) {
    char buffer[4096];
    const ssize_t n = ::read(c.fd, buffer, sizeof buffer);
    if (n > 0) c.text.append(buffer, std::size_t(n));
    if (n > 0 && c.text.size() <= kMostOfRequest) return;
    drop(c);
  }

  static void drop(Client& c) {
    ::close(c.fd);
    c.fd = -1;
    c.at = nullptr;
  }

  static void reply(Client& c, const json& answer) {
    (void)support::write_all(c.fd, answer.dump(-1, ' ', false, json::error_handler_t::replace) + "\n");
    drop(c);
  }

  Client* client_of(const PartnerProcess& p) {
    const auto it = std::find_if(clients_.begin(), clients_.end(), [&](const Client& c) { return c.at == &p; });
    return it == clients_.end() ? nullptr : &*it;
  }

  void assign(Client& c) {
    using State = PartnerProcess::State;
    const bool greets = c.text == "\n";
    if (greets && !greeting_.empty()) return reply(c, {{"greeting", greeting_}});
    const auto in = [&](State s) {
      return std::find_if(processes_.begin(), processes_.end(),
                          [&](const PartnerProcess& p) { return p.state() == s; });
    };
    if (const auto idle = in(State::Idle); idle != processes_.end() && !greets) {
      c.at = &*idle;
      if (!idle->give(c.text)) ended(*idle);
      return;
    }
    if (!unusable_.empty()) return reply(c, {{"useless", unusable_}});
    if (in(State::Starting) != processes_.end()) return;
    if (const auto none = in(State::None); none != processes_.end())
      if (const std::string why = none->begin(); !why.empty()) unusable_ = "it cannot be started: " + why;
  }

  void hear(PartnerProcess& p) {
    bool is_over = false;
    const auto line = p.hear(is_over);
    if (line && p.state() == PartnerProcess::State::Starting) return greet(p, *line);
    if (line && p.state() == PartnerProcess::State::Busy) {
      if (Client* c = client_of(p)) reply(*c, {{"line", *line}});
      p.greeted();
    } else if (line || is_over) {
      ended(p);
    }
  }

  void greet(PartnerProcess& p, const std::string& line) {
    const auto read = support::read_json(line);
    const auto name = read.ok() && (*read)->is_object() ? (*read)->find("partner") : json::const_iterator();
    if (read.ok() && (*read)->is_object() && name != (*read)->end() && name->is_string()) {
      greeting_ = name->get<std::string>();
      if (greeting_.empty()) greeting_ = "a partner without a name";
      return p.greeted();
    }
    p.stop();
    unusable_ =
        fmt::format("its first line is not a greeting, `{{\"partner\": \"NAME VERSION\"}}`: {}", line.substr(0, 200));
  }

  static std::string text_of(const PartnerProcess::End& end) {
    std::string text = end.signal != 0 ? fmt::format("signal {} ({})", end.signal, ::strsignal(end.signal))
                                       : fmt::format("exit code {}", end.code);
    if (!end.last_line.empty()) text += ": " + end.last_line;
    return text;
  }

  void ended(PartnerProcess& p) {
    const bool starts = p.state() == PartnerProcess::State::Starting;
    Client* c = client_of(p);
    const PartnerProcess::End end = p.stop();
    if (starts) unusable_ = "it ended before its greeting, with " + text_of(end);
    if (c) reply(*c, {{"ended", text_of(end)}, {"signal", end.signal}, {"last_line", end.last_line}});
  }

  void check_time(PartnerProcess& p) {
    using State = PartnerProcess::State;
    if (p.state() == State::None || p.state() == State::Idle || PartnerProcess::Clock::now() < p.deadline()) return;
    const bool starts = p.state() == State::Starting;
    Client* c = client_of(p);
    p.stop();
    if (starts) unusable_ = fmt::format("it gave no greeting within {} s", options_.start_seconds);
    if (c) reply(*c, {{"too_long", options_.seconds}});
  }

  const PartnerOptions& options_;
  const int listener_, lifeline_;
  std::list<PartnerProcess> processes_;
  std::list<Client> clients_;
  std::string greeting_;
  std::string unusable_;  // why it cannot be used any more
};

}  // namespace

void serve_partner(const PartnerOptions& options, int listener, int lifeline) {
  ::signal(SIGPIPE, SIG_IGN);
  ::signal(SIGINT, SIG_IGN);
  struct sigaction end {};
  end.sa_handler = [](int) { g_end_of_broker = 1; };
  ::sigaction(SIGTERM, &end, nullptr);
  Broker(options, listener, lifeline).run();
}

}  // namespace rldb::repro
