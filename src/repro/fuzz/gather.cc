#include "repro/fuzz/gather.h"

#include <unistd.h>

#include <algorithm>
#include <charconv>
#include <chrono>

#include "repro/read_again.h"
#include "repro/reduce/other_ranks.h"
#include "rldb/ir/printer.h"
#include "rldb/support/cancel.h"

namespace rldb::repro {

namespace {

// A rank that reduces a finding when the time is over is waited for.
constexpr auto kMostPatience = std::chrono::seconds(120);
constexpr ::useconds_t kBetweenReports = 2000;
constexpr std::size_t kCounts = 3, kOfFinding = 11;

std::string wire_of(const FuzzReport& r) {
  std::vector<std::string> parts{std::to_string(r.programs), std::to_string(r.compared), std::to_string(r.on_engines)};
  for (const FuzzFinding& f : r.findings) {
    ir::PrintOptions print;
    print.show_meta = true;
    const Question& q = f.question;
    parts.push_back(to_parts({std::to_string(f.seed), f.passes, f.text, to_wire(f.symptom), ir::print(f.module, print),
                              q.passes, q.function, std::to_string(f.default_dim), std::to_string(f.programs),
                              to_parts(q.inputs), f.confirmed ? "1" : "0"}));
  }
  return to_parts(parts);
}

template <class N>
N number_from(const std::string& text) {
  N n{};
  std::from_chars(text.data(), text.data() + text.size(), n);
  return n;
}

void add_finding(session::Session& session, const std::vector<std::string>& parts, FuzzReport& out) {
  const auto symptom = from_wire(parts[3]);
  if (!symptom) return;
  for (FuzzFinding& known : out.findings)
    if (known.symptom == *symptom && symptom->is_failure()) {
      known.programs += number_from<std::size_t>(parts[8]);
      return;
    }
  FuzzFinding f;
  f.seed = number_from<std::uint64_t>(parts[0]);
  f.passes = parts[1];
  f.text = parts[2];
  f.symptom = *symptom;
  f.module = read_again_unchecked(session, parts[4]);
  if (!f.module) return;
  f.question = fuzz_question(parts[5]);
  f.question.function = parts[6];
  if (const auto inputs = from_parts(parts[9])) f.question.inputs = *inputs;
  f.default_dim = number_from<std::int64_t>(parts[7]);
  f.programs = number_from<std::size_t>(parts[8]);
  f.confirmed = parts[10] == "1";
  out.findings.push_back(std::move(f));
}

void add_report(session::Session& session, std::string_view bytes, FuzzReport& out) {
  const auto parts = from_parts(bytes);
  if (!parts || parts->size() < kCounts) return;
  out.programs += number_from<std::size_t>((*parts)[0]);
  out.compared += number_from<std::size_t>((*parts)[1]);
  out.on_engines += number_from<std::size_t>((*parts)[2]);
  for (std::size_t i = kCounts; i < parts->size(); ++i)
    if (const auto finding = from_parts((*parts)[i]); finding && finding->size() == kOfFinding)
      add_finding(session, *finding, out);
}

}  // namespace

void gather(session::Session& session, support::Ranks& ranks, FuzzReport& report) {
  if (ranks.rank() > 0) {
    ranks.send(0, wire_of(report));
    return;
  }
  const auto end = std::chrono::steady_clock::now() + kMostPatience;
  for (int missing = ranks.size() - 1; missing > 0 && std::chrono::steady_clock::now() < end;) {
    support::poll();
    if (const auto message = ranks.receive()) {
      add_report(session, message->bytes, report);
      --missing;
    } else {
      ::usleep(kBetweenReports);
    }
  }
  // The same order, whichever rank was first.
  std::stable_sort(report.findings.begin(), report.findings.end(),
                   [](const FuzzFinding& a, const FuzzFinding& b) { return a.seed < b.seed; });
}

}  // namespace rldb::repro
