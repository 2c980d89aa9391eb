// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include <span>
#include <string>

#include "Lutra_Messages.hpp"
#include "Lutra_PartBoundaries.hpp"

namespace lutra::Impl {

namespace {

void pack(const PartMembers& members, std::vector<int>& numbers) {
  const DividedColumns& columns = members.columns;
  numbers.insert(numbers.end(), {columns.pivots, columns.cb_rows, columns.ranks, columns.width,
                                 static_cast<int>(members.ranks.size())});
  numbers.insert(numbers.end(), members.ranks.begin(), members.ranks.end());
}

}  // namespace

std::vector<int> packed(const PartBoundary& boundary) {
  std::vector<int> numbers{boundary.number};
  pack(boundary.members, numbers);
  for (const auto* const edges : {&boundary.below, &boundary.above}) {
    numbers.push_back(static_cast<int>(edges->size()));
    for (const PartEdge& edge : *edges) {
      numbers.insert(numbers.end(), {edge.part, edge.rank});
      pack(edge.members, numbers);
      for (const auto* const list : {&edge.fronts, &edge.solutions, &edge.columns}) {
        numbers.push_back(static_cast<int>(list->size()));
        numbers.insert(numbers.end(), list->begin(), list->end());
      }
    }
  }
  return numbers;
}

namespace {

/// Numbers of a message, one after another.
class Numbers {
 public:
  explicit Numbers(std::span<const int> numbers) : m_rest(numbers) {}
  int next() { return take(1).front(); }
  /// @throws DamagedMessage if there are fewer
  std::span<const int> take(std::size_t count) {
    if (count > m_rest.size())
      throw DamagedMessage(std::to_string(count) + " numbers of a boundary, of which there are " +
                           std::to_string(m_rest.size()));
    const auto taken = m_rest.first(count);
    m_rest = m_rest.subspan(count);
    return taken;
  }
  /// A number that says how many times `least` numbers follow.
  std::size_t take_count(std::size_t least) {
    const int count = next();
    if (count < 0 || static_cast<std::size_t>(count) > m_rest.size() / least)
      throw DamagedMessage("a boundary with " + std::to_string(count) + " elements");
    return static_cast<std::size_t>(count);
  }
  /// As many numbers as the next one says.
  std::vector<int> take_list() {
    const auto taken = take(take_count(1));
    return {taken.begin(), taken.end()};
  }
  PartMembers take_members() {
    PartMembers members;
    DividedColumns& columns = members.columns;
    for (int* const number : {&columns.pivots, &columns.cb_rows, &columns.ranks, &columns.width})
      *number = next();
    members.ranks = take_list();
    const bool fits =
        members.ranks.empty() || (columns.ranks == static_cast<int>(members.ranks.size()) &&
                                  columns.width > 0 && columns.pivots > 0 && columns.cb_rows >= 0);
    if (!fits) throw DamagedMessage("a front whose columns are not those of its ranks");
    return members;
  }
  bool is_empty() const { return m_rest.empty(); }

 private:
  std::span<const int> m_rest;
};

}  // namespace

PartBoundary unpacked(const std::vector<int>& message) {
  constexpr std::size_t least_of_edge = 10;  // part, rank, five numbers of members, and three lengths
  Numbers numbers(message);
  PartBoundary boundary;
  boundary.number = numbers.next();
  boundary.members = numbers.take_members();
  for (auto* const edges : {&boundary.below, &boundary.above}) {
    edges->resize(numbers.take_count(least_of_edge));
    for (PartEdge& edge : *edges) {
      edge.part = numbers.next();
      edge.rank = numbers.next();
      edge.members = numbers.take_members();
      for (auto* const list : {&edge.fronts, &edge.solutions, &edge.columns}) *list = numbers.take_list();
    }
  }
  if (!numbers.is_empty()) throw DamagedMessage("more numbers than a boundary has");
  return boundary;
}

}  // namespace lutra::Impl
