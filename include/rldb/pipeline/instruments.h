// Instruments that need to know nothing about the language: limits, records, versions. Verification and type checks are
// those of the rooms of passes; printing, dumps and reports those of ui.
#pragma once

#include <functional>
#include <utility>
#include <vector>

#include "rldb/pipeline/history.h"

namespace rldb::pipeline {

// Only the first passes run. `announce` is told of each, with its number from 1.
class BisectLimit : public Instrument {
 public:
  using Announce = std::function<void(std::size_t number, const Invocation& pass, bool runs)>;
  // Below 0: all run.
  explicit BisectLimit(int limit, Announce announce = {}) : limit_(limit), announce_(std::move(announce)) {}
  bool wants(const Invocation& pass, ModuleRef) override {
    const bool runs = limit_ < 0 || count_ < std::size_t(limit_);
    ++count_;
    if (announce_) announce_(count_, pass, runs);
    return runs;
  }

 private:
  int limit_;
  Announce announce_;
  std::size_t count_ = 0;
};

// Keeps a record of each pass that ran, and of the one that failed.
class Recorder : public Instrument {
 public:
  Result<support::Unit> after(const Record& record) override {
    records.push_back(record);
    return support::Unit{};
  }
  void failed(const Record& record, const source::Message&) override { records.push_back(record); }
  std::vector<Record> records;
};

// Makes a version of each result.
class Versions : public Instrument {
 public:
  explicit Versions(History& history) : history_([&history] { return &history; }) {}
  // The history is looked up for each result: an instrument may have replaced it. Null: there is none any more.
  explicit Versions(std::function<History*()> history) : history_(std::move(history)) {}
  Result<support::Unit> after(const Record& record) override {
    if (History* history = history_()) history->push(record);
    return support::Unit{};
  }

 private:
  std::function<History*()> history_;
};

// Is told of each pass before it runs.
class Announcer : public Instrument {
 public:
  explicit Announcer(std::function<void(const Invocation&)> tell) : tell_(std::move(tell)) {}
  void before(const Invocation& pass, ModuleRef) override { tell_(pass); }

 private:
  std::function<void(const Invocation&)> tell_;
};

}  // namespace rldb::pipeline
