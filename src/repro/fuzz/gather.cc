// Reports of random programs as messages from rank to rank.
#include "repro/fuzz/gather.h"

#include <algorithm>
#include <array>
#include <charconv>
#include <chrono>
#include <set>

#include "repro/other_ranks.h"
#include "repro/read_again.h"
#include "repro/reduce/child.h"
#include "rldb/ir/printer.h"
#include "rldb/support/cancel.h"

namespace rldb::repro {

namespace {

// A rank that reduces a finding when the time is over is waited for.
constexpr auto kMostPatience = std::chrono::seconds(120);
constexpr std::size_t kCounts = 5, kOfFinding = 11;  // parts of a report before its findings, and of a finding

// ---- what the programs reached ----

// Of a coverage, in one order.
template <class C>
auto numbers_of(C& c) {
  return std::array{&c.programs, &c.solved, &c.refused};
}
template <class C>
auto histograms_of(C& c) {
  return std::array{&c.operators, &c.dtypes, &c.constructs, &c.passes, &c.rewrites};
}

std::string wire_of(const Coverage& c) {
  std::vector<std::string> parts;
  for (const std::size_t* n : numbers_of(c)) parts.push_back(std::to_string(*n));
  for (const Coverage::Counts* counts : histograms_of(c)) {
    std::vector<std::string> pairs;
    for (const auto& [name, n] : *counts) {
      pairs.push_back(name);
      pairs.push_back(std::to_string(n));
    }
    parts.push_back(to_parts(pairs));
  }
  return to_parts(parts);
}

template <class N>
N number_from(const std::string& text) {
  N n{};
  std::from_chars(text.data(), text.data() + text.size(), n);
  return n;
}

void add_coverage(std::string_view bytes, Coverage& out) {
  const auto parts = from_parts(bytes);
  const auto numbers = numbers_of(out);
  const auto histograms = histograms_of(out);
  if (!parts || parts->size() != numbers.size() + histograms.size()) return;
  for (std::size_t i = 0; i < numbers.size(); ++i) *numbers[i] += number_from<std::size_t>((*parts)[i]);
  for (std::size_t i = 0; i < histograms.size(); ++i)
    if (const auto pairs = from_parts((*parts)[numbers.size() + i]))
      for (std::size_t k = 0; k + 1 < pairs->size(); k += 2)
        (*histograms[i])[(*pairs)[k]] += number_from<std::size_t>((*pairs)[k + 1]);
}

// ---- reports ----

std::string wire_of(const FuzzReport& r) {
  std::vector<std::string> parts{std::to_string(r.programs), std::to_string(r.compared), std::to_string(r.on_engines),
                                 std::to_string(r.undefined), wire_of(r.coverage)};
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
  out.undefined += number_from<std::size_t>((*parts)[3]);
  add_coverage((*parts)[4], out.coverage);
  for (std::size_t i = kCounts; i < parts->size(); ++i)
    if (const auto finding = from_parts((*parts)[i]); finding && finding->size() == kOfFinding)
      add_finding(session, *finding, out);
}

std::string wire_of(const RelayFuzzReport& r) {
  std::vector<std::string> findings;
  for (const RelayFuzzFinding& f : r.findings)
    findings.push_back(to_parts({std::to_string(f.seed), f.passes, f.text, f.program}));
  return to_parts({std::to_string(r.programs), std::to_string(r.compared), std::to_string(r.translated),
                   to_parts(findings), to_parts(r.not_run)});
}

void add_report(std::string_view bytes, RelayFuzzReport& out) {
  const auto parts = from_parts(bytes);
  if (!parts || parts->size() != 5) return;
  out.programs += number_from<std::size_t>((*parts)[0]);
  out.compared += number_from<std::size_t>((*parts)[1]);
  out.translated += number_from<std::size_t>((*parts)[2]);
  const auto findings = from_parts((*parts)[3]), not_run = from_parts((*parts)[4]);
  for (std::size_t i = 0; findings && i < findings->size(); ++i)
    if (auto f = from_parts((*findings)[i]); f && f->size() == 4)
      out.findings.push_back({number_from<std::uint64_t>((*f)[0]), (*f)[1], (*f)[2], (*f)[3]});
  // Each rank has its own example of a reason: after `seed N: `.
  const auto reason = [](const std::string& text) { return form_of(text.substr(text.find(": ") + 1)); };
  for (std::size_t i = 0; not_run && i < not_run->size(); ++i)
    if (std::none_of(out.not_run.begin(), out.not_run.end(),
                     [&](const std::string& known) { return reason(known) == reason((*not_run)[i]); }))
      out.not_run.push_back((*not_run)[i]);
}

// The messages of the other ranks on rank 0; `own` is sent there by another.
void exchange(support::Ranks& ranks, const std::string& own, const std::function<void(const std::string&)>& add) {
  if (ranks.rank() > 0) {
    ranks.send(0, own);
    return;
  }
  std::set<int> missing;
  for (int rank = 1; rank < ranks.size(); ++rank) missing.insert(rank);
  const auto end = std::chrono::steady_clock::now() + kMostPatience;
  while (!missing.empty() && std::chrono::steady_clock::now() < end) {
    support::poll();
    if (const auto message = ranks.receive()) {
      add(message->bytes);
      missing.erase(message->from);
    } else {
      wait_for_messages();
    }
  }
  for (const int rank : missing) note_silent(rank);
}

// The same order, whichever rank was first.
template <class Finding>
void sort_by_seed(std::vector<Finding>& findings) {
  std::stable_sort(findings.begin(), findings.end(), [](const auto& a, const auto& b) { return a.seed < b.seed; });
}

}  // namespace

void gather(session::Session& session, support::Ranks& ranks, FuzzReport& report) {
  exchange(ranks, wire_of(report), [&](const std::string& bytes) { add_report(session, bytes, report); });
  sort_by_seed(report.findings);
}

void gather(support::Ranks& ranks, RelayFuzzReport& report) {
  exchange(ranks, wire_of(report), [&](const std::string& bytes) { add_report(bytes, report); });
  sort_by_seed(report.findings);
}

}  // namespace rldb::repro
