// The processor time taken by passes and runs. Room-private.
#pragma once

#include <optional>
#include <string>

#include "repro/cpu_clock.h"
#include "rldb/repro/oracle.h"

namespace rldb::repro {

// Cancels the work of this process when it has computed for so many seconds, all threads together. Other work on the
// machine makes no difference. One at a time; it does not disturb a Deadline.
class CpuLimit {
 public:
  explicit CpuLimit(double seconds);
  ~CpuLimit();
  CpuLimit(const CpuLimit&) = delete;
  CpuLimit& operator=(const CpuLimit&) = delete;

  double spent() const;
  // The work was cancelled by this limit and by nothing else. It is no longer cancelled then.
  bool take_expiry();

 private:
  CpuClock::time_point start_;
};

// Above a limit by this factor work is not waited for, and is not measured again.
constexpr double kHopeless = 4;

struct MeasuredTime {
  std::optional<double> seconds;  // of one run; none: it fails, see `why`
  bool stopped = false;           // it was stopped after so long
  std::string why;
};

// Runs on the machine, lowered by the rest of the minimum build; compiling is not counted. Short runs are repeated, and
// the shortest of three measurements counts. `enough`: one that is no longer ends the measurement; 0: there is no
// limit.
MeasuredTime measure_time(session::Session& session, const ir::Module* module, const std::string& function,
                          const std::vector<runtime::Value>& args, double enough);

}  // namespace rldb::repro
