// The two ends of a question to another rank.
#include "repro/reduce/other_ranks.h"

#include <unistd.h>

#include <algorithm>
#include <charconv>

#include "repro/read_again.h"
#include "rldb/frontend/parse.h"
#include "rldb/support/cancel.h"

namespace rldb::repro {

namespace {

// Between looks for a message: a rank that waits leaves its core to others.
constexpr ::useconds_t kBetweenLooks = 500;
constexpr std::string_view kEnd = "end";

std::size_t number_of(const std::string& text) {
  std::size_t n = 0;
  std::from_chars(text.data(), text.data() + text.size(), n);
  return n;
}

}  // namespace

std::string to_parts(const std::vector<std::string>& parts) {
  std::string out;
  for (const std::string& part : parts) (out += std::to_string(part.size()) + ":") += part;
  return out;
}

std::optional<std::vector<std::string>> from_parts(std::string_view bytes) {
  std::vector<std::string> out;
  while (!bytes.empty()) {
    std::size_t length = 0;
    const auto [end, error] = std::from_chars(bytes.data(), bytes.data() + bytes.size(), length);
    if (error != std::errc() || end == bytes.data() + bytes.size() || *end != ':') return std::nullopt;
    bytes.remove_prefix(std::size_t(end - bytes.data()) + 1);
    if (length > bytes.size()) return std::nullopt;
    out.emplace_back(bytes.substr(0, length));
    bytes.remove_prefix(length);
  }
  return out;
}

void OtherRanks::listen() {
  while (auto message = ranks_.receive()) {
    const auto parts = from_parts(message->bytes);
    if (!parts || parts->size() != 2) continue;
    const std::size_t question = number_of((*parts)[0]);
    if (working_on_[std::size_t(message->from)] == question) working_on_[std::size_t(message->from)] = 0;
    answers_.emplace_back(question, Heard{from_wire((*parts)[1])});
  }
}

std::optional<int> OtherRanks::give(const std::string& program) {
  listen();
  for (int rank = 1; rank < ranks_.size(); ++rank) {
    if (working_on_[std::size_t(rank)] != 0) continue;
    if (!ranks_.send(rank, to_parts({std::to_string(++last_), program}))) return std::nullopt;
    working_on_[std::size_t(rank)] = last_;
    return rank;
  }
  return std::nullopt;
}

std::optional<OtherRanks::Heard> OtherRanks::heard(int rank, std::size_t question) {
  listen();
  const auto it = std::find_if(answers_.begin(), answers_.end(), [&](const auto& a) { return a.first == question; });
  if (it == answers_.end()) {
    if (working_on_[std::size_t(rank)] == question) ::usleep(kBetweenLooks);
    return std::nullopt;
  }
  Heard found = it->second;
  std::erase_if(answers_, [&](const auto& a) { return a.first <= question; });  // older ones were not waited for
  return found;
}

void end_other_ranks(support::Ranks& ranks) {
  for (int rank = 1; rank < ranks.size(); ++rank) ranks.send(rank, kEnd);
}

void answer_other_ranks(session::Session& session, const Question& question, support::Ranks& ranks,
                        double candidate_seconds) {
  ChildLimits limits;
  limits.seconds = candidate_seconds;
  for (;;) {
    support::poll();
    const auto message = ranks.receive();
    if (!message) {
      ::usleep(kBetweenLooks);
      continue;
    }
    if (message->bytes == kEnd) return;
    const auto parts = from_parts(message->bytes);
    if (!parts || parts->size() != 2) continue;
    const auto program = from_parts((*parts)[1]);
    std::optional<Symptom> answer;
    if (program && program->size() >= 2) {
      Question q = question;
      q.passes = (*program)[0];
      q.keep_defined = (*program)[1] == "1";
      q.inputs.assign(program->begin() + 3, program->end());
      answer = ask_in_child(limits, [&]() -> std::optional<Symptom> {
        const ir::Module* module = read_again_unchecked(session, (*program)[2]);
        return module ? Oracle(session, q).ask(module) : std::nullopt;
      });
    }
    ranks.send(message->from, to_parts({(*parts)[0], to_wire(answer)}));
  }
}

}  // namespace rldb::repro
