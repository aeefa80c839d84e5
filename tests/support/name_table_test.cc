// Tables of names that share their rows: against a vector, and copies that go their own ways.
#include "rldb/support/name_table.h"

#include <doctest/doctest.h>

#include <random>
#include <string>

using rldb::support::NameTable;

namespace {

struct Row {
  std::string name;
  int value;
};

// The same, as it was defined: a vector in the order of the names.
struct Plain {
  std::vector<Row> rows;
  void put(Row row) {
    for (Row& r : rows)
      if (r.name == row.name) return void(r = std::move(row));
    rows.push_back(std::move(row));
  }
  void erase(const std::string& name) {
    std::erase_if(rows, [&](const Row& r) { return r.name == name; });
  }
};

std::string text_of(const NameTable<Row>& table, std::string_view prefix = {}) {
  std::string text;
  for (const Row& r : prefix.empty() ? table.in_order() : table.starting_with(prefix))
    text += r.name + "=" + std::to_string(r.value) + " ";
  return text;
}

std::string text_of(const Plain& plain, std::string_view prefix = {}) {
  std::string text;
  for (const Row& r : plain.rows)
    if (r.name.starts_with(prefix)) text += r.name + "=" + std::to_string(r.value) + " ";
  return text;
}

}  // namespace

TEST_CASE("name tables: rows keep the order of their names, a replaced one its place") {
  NameTable<Row> table;
  CHECK(table.empty());
  CHECK(table.find("a") == nullptr);
  table.put({"b", 1});
  table.put({"a", 2});
  table.put({"b", 3});
  CHECK(table.size() == 2);
  CHECK(text_of(table) == "b=3 a=2 ");
  table.erase("b");
  table.erase("c");
  table.put({"b", 4});
  CHECK(text_of(table) == "a=2 b=4 ");
}

TEST_CASE("name tables: random changes of copies give what they give in vectors") {
  std::mt19937 random(7);
  std::vector<std::pair<NameTable<Row>, Plain>> copies(1);
  for (int i = 0; i < 4000; ++i) {
    const std::size_t at = random() % copies.size();
    if (copies.size() < 8 && random() % 16 == 0) copies.push_back(copies[at]);
    auto& [table, plain] = copies[at];
    const std::string name = std::string(1, "$ab"[random() % 3]) + std::to_string(random() % 100);
    if (random() % 3 == 0) {
      table.erase(name);
      plain.erase(name);
    } else {
      table.put({name, i});
      plain.put({name, i});
    }
    REQUIRE(table.size() == plain.rows.size());
    if (i % 50 != 0) continue;
    for (const auto& [t, p] : copies) {
      REQUIRE(text_of(t) == text_of(p));
      REQUIRE(text_of(t, "$") == text_of(p, "$"));
      REQUIRE(text_of(t, "a1") == text_of(p, "a1"));
    }
  }
}

TEST_CASE("name tables: a copy shares the rows") {
  NameTable<Row> one;
  for (int i = 0; i < 1000; ++i) one.put({"v" + std::to_string(i), i});
  NameTable<Row> two = one;
  two.put({"v7", 0});
  two.erase("v8");
  CHECK(two.find("v9") == one.find("v9"));
  CHECK(one.find("v7")->value == 7);
  CHECK(one.find("v8") != nullptr);
}
