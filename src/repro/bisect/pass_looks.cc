// PassLooks: applies passes, and asks the ranks of a job about the versions.
#include "repro/bisect/pass_looks.h"

#include <charconv>

#include "repro/reduce/child.h"
#include "rldb/passes/rewrite_counter.h"
#include "rldb/support/cancel.h"

namespace rldb::repro {

namespace {

constexpr std::int64_t kAllRewrites = -1;

std::int64_t integer_in(const std::string& text) {
  std::int64_t n = 0;
  std::from_chars(text.data(), text.data() + text.size(), n);
  return n;
}

}  // namespace

PassLooks::PassLooks(VersionOracle& oracle, pipeline::ModuleRef first, const std::vector<pipeline::Invocation>& passes,
                     support::Ranks* ranks)
    : oracle_(oracle), first_(first), passes_(passes), ranks_(ranks) {
  if (ranks && ranks->rank() == 0 && ranks->size() > 1) others_.emplace(*ranks);
}

PassLooks::~PassLooks() {
  if (others_) others_->end();
}

void PassLooks::answer() {
  answer_rank_0(*ranks_, [this](const std::string& asked) { return answer_to(asked); });
}

// ---- passes ----

PassLooks::Applied PassLooks::apply(std::size_t index, std::int64_t limit) {
  Applied out;
  const pipeline::ModuleRef module = before(index);
  passes::RewriteCounter counter(limit);  // only of this pass: a look at its result may run passes too
  out.failed = oracle_.apply(passes_[index], module, out.after);
  out.rewrites = counter.asked();
  out.last = counter.last();
  return out;
}

const PassLooks::Applied& PassLooks::whole(std::size_t index) {
  while (whole_.size() <= index) {
    support::poll();
    Applied next = apply(whole_.size(), kAllRewrites);
    whole_.push_back(std::move(next));
  }
  return whole_[index];
}

// ---- looks ----

PassLooks::Look PassLooks::look_at(const Applied& applied, std::size_t index) {
  if (applied.failed || applied.after == before(index)) return {applied.failed, {}};
  auto symptom = oracle_.look(applied.after);
  return {std::move(symptom), oracle_.unseen()};
}

PassLooks::Look PassLooks::look_here(std::size_t index, std::int64_t limit) {
  return limit == kAllRewrites ? look_at(whole(index), index) : look_at(apply(index, limit), index);
}

// This version and those after it that can be looked at without knowing what it shows.
std::vector<std::size_t> PassLooks::worth_a_look(std::size_t index) {
  std::vector<std::size_t> out;
  for (std::size_t i = index; i < passes_.size() && out.size() < width(); ++i) {
    if (oracle_.changes_values(passes_[i])) break;  // what comes after it may be compared with its result
    const Applied& a = whole(i);
    if (a.failed) break;
    if (a.after != before(i)) out.push_back(i);
  }
  return out;
}

PassLooks::Look PassLooks::look(std::size_t index) {
  if (const auto it = known_.find(index); it != known_.end()) return it->second;
  const std::vector<std::size_t> all = others_ ? worth_a_look(index) : std::vector<std::size_t>();
  if (all.size() < 2 || all.front() != index) return look_here(index, kAllRewrites);
  std::vector<std::string> questions;
  for (const std::size_t i : all) questions.push_back(question(i, kAllRewrites));
  const auto shows = [](const std::string& answer) {
    const auto parts = from_parts(answer);
    return parts && !parts->empty() && from_wire(parts->front()).has_value();
  };
  const std::vector<std::string> answers = ask_all(
      &*others_, questions, [this](const std::string& q) { return answer_to(q); }, shows);
  for (std::size_t k = 0; k < all.size(); ++k) {
    const auto parts = from_parts(answers[k]);
    if (!parts || parts->size() != 2 || known_.contains(all[k])) continue;
    if (shows(answers[k])) break;  // looked at here, so that the oracle has seen it
    known_[all[k]] = {std::nullopt, (*parts)[1]};
  }
  if (const auto it = known_.find(index); it != known_.end()) return it->second;
  return look_here(index, kAllRewrites);
}

std::vector<std::optional<Symptom>> PassLooks::with_limits(std::size_t index, const std::vector<std::int64_t>& limits) {
  std::vector<std::string> questions;
  for (const std::int64_t limit : limits) questions.push_back(question(index, limit));
  std::vector<std::optional<Symptom>> out;
  for (const std::string& answer :
       ask_all(others_ ? &*others_ : nullptr, questions, [this](const std::string& q) { return answer_to(q); })) {
    const auto parts = from_parts(answer);
    out.push_back(parts && !parts->empty() ? from_wire(parts->front()) : std::nullopt);
  }
  return out;
}

void PassLooks::accept(std::size_t index) {
  accepted_.push_back(index);
  known_.clear();
}

// ---- questions: the pass, the limit, and which versions are accepted ----

std::string PassLooks::question(std::size_t index, std::int64_t limit) const {
  std::vector<std::string> parts{std::to_string(index), std::to_string(limit)};
  for (const std::size_t accepted : accepted_) parts.push_back(std::to_string(accepted));
  return to_parts(parts);
}

void PassLooks::accept_those(const std::vector<std::string>& parts) {
  for (std::size_t k = 2 + accepted_.size(); k < parts.size(); ++k) {
    const auto index = std::size_t(integer_in(parts[k]));
    oracle_.look(whole(index).after);
    oracle_.accept_as_meant(passes_[index]);
    accepted_.push_back(index);
  }
}

std::string PassLooks::answer_to(const std::string& asked) {
  const auto parts = from_parts(asked);
  if (!parts || parts->size() < 2) return {};
  accept_those(*parts);
  const Look look = look_here(std::size_t(integer_in((*parts)[0])), integer_in((*parts)[1]));
  return to_parts({to_wire(look.symptom), look.unseen});
}

}  // namespace rldb::repro
