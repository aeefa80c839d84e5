#include "rldb/runtime/tensor_archive.h"

#include <doctest/doctest.h>

#include <cstdlib>
#include <filesystem>

#include "rldb/runtime/tensor_file.h"
#include "rldb/support/file.h"
#include "runtime/helpers.h"

using namespace rldb::runtime;
using namespace rldb::runtime::testing;
using rldb::support::RandomAccess;

namespace {

const DType kF32 = DType::Float(32);

struct Folder {
  std::string path;
  Folder() {
    char name[] = "/tmp/rldb_archive_XXXXXX";
    REQUIRE(::mkdtemp(name));
    path = name;
  }
  ~Folder() { std::filesystem::remove_all(path); }
  std::string file(const std::string& name, std::string_view bytes) const {
    const std::string at = path + "/" + name;
    REQUIRE(rldb::support::write_file(at, bytes).ok());
    return at;
  }
};

std::string two_members() {
  return write_npz({{"a", Value(tensor({2}, kF32, {1, 2}))}, {"b", Value(tensor({3}, kF32, {3, 4, 5}))}});
}

}  // namespace

TEST_CASE("archive: members are read when they are asked for, so damage elsewhere does not matter") {
  const Folder folder;
  std::string bytes = two_members();
  const std::size_t data = bytes.find(std::string("\0\0\x40\x40", 4));  // 3.0, in `b`
  REQUIRE(data != std::string::npos);
  bytes[data] = 1;
  const auto archive = open_archive(folder.file("x.npz", bytes));
  REQUIRE(archive.ok());
  REQUIRE(*archive);
  CHECK((*archive)->names() == std::vector<std::string>{"a", "b"});
  CHECK_FALSE((*archive)->find("c"));
  const auto a = (*archive)->read(*(*archive)->find("a"));
  REQUIRE(a.ok());
  CHECK(elements(*a) == std::vector<double>{1, 2});
  const auto b = (*archive)->read(*(*archive)->find("b"));
  REQUIRE_FALSE(b.ok());
  CHECK(b.error().message.find("the checksum does not match") != std::string::npos);
}

TEST_CASE("archive: a file that is cut short while it is open") {
  const Folder folder;
  const std::string path = folder.file("x.npz", two_members());
  const auto archive = open_archive(path);
  REQUIRE(archive.ok());
  REQUIRE(*archive);
  std::filesystem::resize_file(path, 10);
  const auto a = (*archive)->read(0);
  REQUIRE_FALSE(a.ok());
  CHECK(a.error().message.find("became shorter") != std::string::npos);
}

TEST_CASE("archive: other files, and files that are missing") {
  const Folder folder;
  const auto npy = open_archive(folder.file("x.npy", write_npy(*tensor({2}, kF32, {1, 2}))));
  REQUIRE(npy.ok());
  CHECK_FALSE(*npy);
  const auto empty = open_archive(folder.file("empty", ""));
  REQUIRE(empty.ok());
  CHECK_FALSE(*empty);
  CHECK_FALSE(open_archive(folder.path + "/none.npz").ok());
  CHECK_FALSE(open_archive(folder.path).ok());
}

TEST_CASE("random access: memory and file give the same ranges") {
  const Folder folder;
  const std::string bytes = "0123456789";
  const RandomAccess memory = RandomAccess::of_memory(bytes);
  const auto file = RandomAccess::open(folder.file("x", bytes));
  REQUIRE(file.ok());
  CHECK(file->size() == 10);
  CHECK(file->has(10, 0));
  CHECK_FALSE(file->has(10, 1));
  CHECK_FALSE(file->has(11, 0));
  for (const RandomAccess* access : {&memory, &*file}) {
    std::string buffer;
    const auto read = access->read(3, 4, buffer);
    REQUIRE(read.ok());
    CHECK(*read == "3456");
  }
}
