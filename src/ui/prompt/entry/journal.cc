// The journal's records: each written with one call, read up to the first damaged one.
#include "rldb/ui/prompt/journal.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <charconv>
#include <cstdlib>
#include <ctime>
#include <filesystem>
#include <nlohmann/json.hpp>

#include "rldb/support/file.h"
#include "rldb/support/file_system.h"
#include "rldb/support/hash.h"
#include "rldb/support/json_document.h"

namespace rldb::ui {

namespace {

namespace fs = std::filesystem;

constexpr std::string_view kExtension = ".journal";
constexpr std::string_view kUnnamed = ".new";
constexpr std::size_t kMostKilled = 16;  // sessions that can be restored

// ---- records ----

std::uint64_t checksum(char kind, std::string_view payload) {
  return support::fnv1a(payload, support::fnv1a({&kind, 1}));
}

std::string record(char kind, std::string_view payload) {
  return fmt::format("{} {} {:016x}\n{}\n", kind, payload.size(), checksum(kind, payload), payload);
}

struct Record {
  char kind = 0;
  std::string_view payload;
};

template <class T>
bool take_number(std::string_view& text, T& value, int base, char end) {
  const auto parsed = std::from_chars(text.data(), text.data() + text.size(), value, base);
  if (parsed.ec != std::errc() || parsed.ptr == text.data() + text.size() || *parsed.ptr != end) return false;
  text.remove_prefix(std::size_t(parsed.ptr - text.data()) + 1);
  return true;
}

std::optional<Record> take_record(std::string_view& bytes) {
  if (bytes.size() < 2 || bytes[1] != ' ') return std::nullopt;
  std::string_view rest = bytes.substr(2);
  std::size_t size = 0;
  std::uint64_t sum = 0;
  if (!take_number(rest, size, 10, ' ') || !take_number(rest, sum, 16, '\n')) return std::nullopt;
  if (rest.size() <= size || rest[size] != '\n') return std::nullopt;
  const Record r{bytes[0], rest.substr(0, size)};
  if (checksum(r.kind, r.payload) != sum) return std::nullopt;
  bytes = rest.substr(size + 1);
  return r;
}

std::string header_text(const JournalHeader& h) {
  const nlohmann::json json{{"arguments", h.arguments}, {"folder", h.folder}, {"started", h.started}};
  // File names need not be UTF-8.
  return json.dump(-1, ' ', true, nlohmann::json::error_handler_t::replace);
}

std::optional<JournalHeader> header_of(std::string_view text) {
  const auto read = support::read_json(text);
  if (!read.ok() || !(*read)->is_object()) return std::nullopt;
  const nlohmann::json& json = **read;
  try {
    return JournalHeader{json.at("arguments").get<std::vector<std::string>>(), json.at("folder").get<std::string>(),
                         json.at("started").get<std::int64_t>()};
  } catch (const nlohmann::json::exception&) {
    return std::nullopt;
  }
}

// The entry of somebody else: a line that says whose, then the entry.
std::string foreign_text(const debug::StoredEntry& entry) {
  const nlohmann::json author{{"script", entry.author.script}, {"line", entry.author.line}};
  return author.dump(-1, ' ', true, nlohmann::json::error_handler_t::replace) + "\n" + entry.text;
}

std::optional<debug::StoredEntry> foreign_of(std::string_view text) {
  const auto end = text.find('\n');
  const auto read = support::read_json(text.substr(0, end));
  if (end == std::string_view::npos || !read.ok() || !(*read)->is_object()) return std::nullopt;
  const nlohmann::json& author = **read;
  try {
    return debug::StoredEntry{std::string(text.substr(end + 1)),
                              {author.at("script").get<std::string>(), author.at("line").get<std::uint32_t>()}};
  } catch (const nlohmann::json::exception&) {
    return std::nullopt;
  }
}

void read_records(std::string_view bytes, std::vector<JournalItem>& items) {
  while (const auto r = take_record(bytes)) {
    JournalItem* last = items.empty() || items.back().header ? nullptr : &items.back();
    if (r->kind == 'B') read_records(r->payload, items);
    if (r->kind == 'E') items.push_back({std::nullopt, {std::string(r->payload), {}}});
    if (r->kind == 'F')
      if (auto entry = foreign_of(r->payload)) items.push_back({std::nullopt, std::move(*entry)});
    if (r->kind == 'H')
      if (auto header = header_of(r->payload)) items.push_back({std::move(header), {}});
    if (r->kind == 'T' && last) last->tried = true;
    if (r->kind == 'R' && last && r->payload.size() == 1) last->outcome = EntryOutcome(r->payload[0]);
  }
}

// ---- files ----

// $XDG_STATE_HOME/rldb, or below ~/.local/state; empty when there is no home folder either.
std::string journal_folder() {
  const char* state = std::getenv("XDG_STATE_HOME");
  if (state && *state == '/') return std::string(state) + "/rldb";
  const std::string home = support::home_folder();
  return home.empty() ? home : home + "/.local/state/rldb";
}

bool lock(int fd) { return ::flock(fd, LOCK_EX | LOCK_NB) == 0; }

// A journal whose session was killed before renaming it; a session needs less than a minute for that.
void remove_unnamed(const fs::path& path) {
  struct stat info {};
  if (::stat(path.c_str(), &info) == 0 && info.st_mtime + 60 < std::time(nullptr)) ::unlink(path.c_str());
}

}  // namespace

std::vector<JournalItem> read_journal(std::string_view bytes) {
  std::vector<JournalItem> items;
  read_records(bytes, items);
  return items;
}

std::unique_ptr<Journal> Journal::create(const JournalHeader& header, std::string& why) {
  const std::string folder = journal_folder();
  if (folder.empty()) {
    why = "neither XDG_STATE_HOME nor HOME is set";
    return nullptr;
  }
  std::error_code error;
  fs::create_directories(folder, error);
  if (!error) fs::permissions(folder, fs::perms::owner_all, error);
  if (error) {
    why = error.message();
    return nullptr;
  }
  const std::string name = fmt::format("{}/{}-{}", folder, header.started, ::getpid());
  const std::string temporary = name + std::string(kUnnamed);
  const int fd =
      support::file_system().open(temporary.c_str(), O_RDWR | O_APPEND | O_CREAT | O_TRUNC | O_CLOEXEC, 0600);
  if (fd < 0) {
    why = support::error_text(errno);
    return nullptr;
  }
  std::unique_ptr<Journal> journal(new Journal(name + std::string(kExtension), fd));
  // Renamed only once it is locked: whoever finds it unlocked assumes that its session was killed.
  lock(fd);
  journal->write_header(header);
  why = journal->take_problem();
  if (why.empty() && support::file_system().rename(temporary.c_str(), journal->path_.c_str()) != 0)
    why = support::error_text(errno);
  if (why.empty()) return journal;
  ::unlink(temporary.c_str());
  return nullptr;
}

std::unique_ptr<Journal> Journal::open_killed(const std::string& path, bool& in_use) {
  in_use = false;
  const int fd = ::open(path.c_str(), O_RDWR | O_APPEND | O_CLOEXEC | O_NOFOLLOW);
  if (fd < 0) return nullptr;
  std::unique_ptr<Journal> journal(new Journal(path, fd));
  struct stat info {};
  in_use = !lock(fd);
  // Removed meanwhile: its session ended in order, or another one has taken it.
  if (in_use || ::fstat(fd, &info) != 0 || !S_ISREG(info.st_mode) || info.st_nlink == 0) return nullptr;
  return journal;
}

Journal::~Journal() {
  if (fd_ >= 0) ::close(fd_);
}

std::vector<JournalItem> Journal::items() const {
  auto bytes = support::read_regular_file(path_);
  return bytes.ok() ? read_journal(*bytes) : std::vector<JournalItem>();
}

void Journal::append(char kind, std::string_view payload) {
  if (broken_) return;
  const std::string bytes = record(kind, payload);
  if (batch_) {
    *batch_ += bytes;
    return;
  }
  struct stat before {};
  ssize_t n = ::fstat(fd_, &before);
  if (n == 0) n = support::file_system().write(fd_, bytes.data(), bytes.size());
  if (n == ssize_t(bytes.size())) return;
  problem_ = support::error_text(n < 0 ? errno : ENOSPC);
  broken_ = true;
  if (::ftruncate(fd_, before.st_size) != 0) { /* the rest of the record is no whole record */
  }
}

void Journal::write_header(const JournalHeader& header) { append('H', header_text(header)); }
void Journal::begin(const debug::StoredEntry& entry) {
  if (entry.author.is_user())
    append('E', entry.text);
  else
    append('F', foreign_text(entry));
}
void Journal::finish(EntryOutcome outcome) {
  const char text = static_cast<char>(outcome);
  append('R', std::string_view(&text, 1));
}
void Journal::mark_tried() { append('T', {}); }

void Journal::end_batch() {
  if (!batch_) return;
  const std::string records = std::move(*batch_);
  batch_.reset();
  if (!records.empty()) append('B', records);
}

void Journal::remove() { ::unlink(path_.c_str()); }

std::string Journal::take_problem() { return std::exchange(problem_, {}); }

std::vector<KilledSession> killed_sessions() {
  std::vector<KilledSession> found;
  std::error_code error;
  for (const fs::directory_entry& file : fs::directory_iterator(journal_folder(), error)) {
    if (file.path().extension() == kUnnamed) remove_unnamed(file.path());
    if (file.path().extension() != kExtension) continue;
    bool in_use = false;
    const auto journal = Journal::open_killed(file.path(), in_use);
    if (!journal) continue;
    const std::vector<JournalItem> items = journal->items();
    const bool empty = std::none_of(items.begin(), items.end(), [](const JournalItem& i) { return !i.header; });
    if (empty || !items.front().header)
      journal->remove();
    else
      found.push_back({file.path(), *items.front().header});
  }
  std::sort(found.begin(), found.end(), [](const KilledSession& a, const KilledSession& b) {
    return a.header.started != b.header.started ? a.header.started > b.header.started : a.path > b.path;
  });
  for (; found.size() > kMostKilled; found.pop_back()) {
    bool in_use = false;
    if (const auto journal = Journal::open_killed(found.back().path, in_use)) journal->remove();
  }
  return found;
}

std::string time_text(std::int64_t seconds) {
  const std::time_t time = seconds;
  std::tm parts{};
  ::localtime_r(&time, &parts);
  char text[32];
  return std::strftime(text, sizeof text, "%Y-%m-%d %H:%M", &parts) > 0 ? text : "?";
}

}  // namespace rldb::ui
