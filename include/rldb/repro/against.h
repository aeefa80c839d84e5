// Random programs in two compilers: rldb and a partner beside it. Programs whose results differ, or on which the
// partner fails, are reduced; the dump that the partner leaves of the reduced one tells the pass. Users: the command,
// tests.
#pragma once

#include <functional>

#include "rldb/repro/bisect.h"
#include "rldb/repro/partner.h"
#include "rldb/repro/reduce.h"
#include "rldb/support/ranks.h"

namespace rldb::repro {

struct AgainstOptions {
  std::uint64_t seed = 0;
  double seconds = 60;       // in all; 0: no limit
  std::size_t programs = 0;  // at most; 0: any number
  double reduce_seconds = 30;
  unsigned jobs = 1;
  Tolerances tolerances;
  support::Ranks* ranks = nullptr;  // of the job; null: this process is alone
  std::function<void(std::size_t programs, std::size_t findings)> progress;
};

struct AgainstFinding {
  std::uint64_t seed = 0;  // of the program alone
  Symptom symptom;
  const ir::Module* module = nullptr;  // reduced
  Question question;                   // that shows it
  std::int64_t default_dim = 0;
  std::size_t programs = 1;  // that have it
  // Findings with the same symptom in the same pass, at a computation of the same kind, are one.
  std::string group;
  std::vector<std::uint64_t> seeds;  // of all these programs
  // What the dump of the reduced program says; nullopt: the partner left none.
  std::optional<TraceBisection> dump;
  std::string minimal;  // one sentence on the reduction
};

struct AgainstReport {
  std::string partner;  // its name
  std::size_t programs = 0, compared = 0;
  // Programs without a verdict, by the reason: how many, and the first one in words.
  std::size_t not_run_here = 0, refused = 0, not_lasting = 0;
  std::string why_not_run_here, why_refused;
  std::vector<AgainstFinding> findings;
  std::string broken;  // the partner cannot be used any more: why the work ended
};

// Rank 0 has the search and the findings; each rank has a partner of its own.
AgainstReport fuzz_against(session::Session& session, const Partner& partner, const AgainstOptions& options);
// On another rank, until rank 0 ends the search. Null: there is no partner on this rank, see `why`.
void answer_fuzz_against(session::Session& session, const Partner* partner, const std::string& why,
                         const AgainstOptions& options);
// The verdict of one finding: what, and in which pass.
std::string to_string(const AgainstFinding& f);
std::string to_string(const AgainstReport& r);
std::string to_json(const AgainstReport& r);

}  // namespace rldb::repro
