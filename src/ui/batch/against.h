// rldb fuzz --against, and the partner of rldb reduce --test-server.
#pragma once

#include <memory>

#include "rldb/repro/partner.h"
#include "rldb/ui/batch/batch.h"
#include "ui/batch/job.h"

namespace rldb::ui {

// The partner that the line names. Null: diagnosed.
std::unique_ptr<repro::Partner> start_partner(const CommandLine& line, session::Session& session, Console& console);
int batch_against(const CommandLine& line, session::Session& session, const Job& job, Console& console);

}  // namespace rldb::ui
