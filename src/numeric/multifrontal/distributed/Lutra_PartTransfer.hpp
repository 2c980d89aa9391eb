// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#ifndef LUTRA_PARTTRANSFER_HPP
#define LUTRA_PARTTRANSFER_HPP

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <utility>
#include <vector>

#include "Lutra_At.hpp"
#include "Lutra_Communicator.hpp"
#include "Lutra_DividedFront.hpp"
#include "Lutra_FrontPart.hpp"
#include "Lutra_Messages.hpp"
#include "Lutra_PartBoundaries.hpp"
#include "Lutra_ViewChannel.hpp"

namespace lutra::Impl {

/// Passes contributions between parts, and on hosts columns of a front between the ranks that divide it.
///
///     part below ─► its contribution, to the rank of the part above
///                ─► or to each of its members: the columns of that member
///     member     ─► after the elimination: U above its blocks, U and contributions in its other columns,
///                   to the rank of the part, which then has what one rank would have computed
template <class Scalar, class ExecutionSpace>
class PartTransfer {
 public:
  using Memory = typename ExecutionSpace::memory_space;
  using Part = FrontPart<Scalar, ExecutionSpace>;
  using Channel = ViewChannel<ExecutionSpace>;
  using Values = Kokkos::View<Scalar*, Memory>;

  explicit PartTransfer(Channel& channel) : m_channel(channel) {}

  /// Allocates a buffer for the columns of the largest front.
  void reserve(MemoryReservation& reservation, const std::vector<PartBoundary>& boundaries) {
    std::size_t entries = 0;
    for (const PartBoundary& boundary : boundaries)
      for (std::size_t m = 0; m < boundary.members.ranks.size(); ++m)
        entries = std::max(entries, packed_entries(boundary.members.columns, static_cast<int>(m)));
    m_buffer = reservation.template allocate<Values>(m_channel.exec(), "lutra::numeric::columns of a front",
                                                     entries);
  }

  /// Sends the contributions of an edge to other ranks. @returns whether this rank also assembles them
  bool send_contributions(const Part& part, const PartEdge& edge) const {
    bool is_own = false;
    for_each_target(edge, [&](int rank) {
      if (rank == this->rank()) {
        is_own = true;
        return;
      }
      for (const Values& piece : contributions(part, edge, rank))
        m_channel.template send<Scalar>(rank, piece);
    });
    return is_own;
  }
  void receive_contributions(const Part& part, const PartEdge& edge) const {
    for (const Values& piece : contributions(part, edge, rank()))
      m_channel.template receive<Scalar>(edge.rank, piece);
  }
  /// Between two parts of this rank.
  /// @param above, there the upper part with its edge
  void copy_contributions(const Part& part, const PartEdge& edge, const Part& above,
                          const PartEdge& there) const {
    const auto from = contributions(part, edge, rank()), to = contributions(above, there, rank());
    for (std::size_t k = 0; k < from.size(); ++k) Kokkos::deep_copy(m_channel.exec(), to[k], from[k]);
  }

  /// Sends the columns of this rank to the rank of the part.
  void send_columns(const Part& part, const PartMembers& members) const {
    const int own = members.index_of(rank()), to = members.ranks.front();
    const Values packed = packed_columns(members.columns, own);
    for_each_column_block(part, members.columns, own, packed, [&](const auto& columns, const auto& copy) {
      Kokkos::deep_copy(m_channel.exec(), copy, columns);
    });
    m_channel.exec().fence("lutra::numeric: columns are packed");
    m_channel.template send<Scalar>(to, packed);
    m_channel.template send<Scalar>(to, contribution_columns(part, members.columns, own));
  }
  void receive_columns(const Part& part, const PartMembers& members, int from) const {
    const int other = members.index_of(from);
    const Values packed = packed_columns(members.columns, other);
    m_channel.template receive<Scalar>(from, packed);
    for_each_column_block(part, members.columns, other, packed, [&](const auto& columns, const auto& copy) {
      Kokkos::deep_copy(m_channel.exec(), columns, copy);
    });
    m_channel.template receive<Scalar>(from, contribution_columns(part, members.columns, other));
  }

  /// Adds the room that the messages to a part take in this rank's buffers.
  void add_room(const Part& part, const PartBoundary& boundary, std::vector<std::size_t>& room_from) const {
    const auto room = [](std::size_t entries) { return Channel::room(entries * sizeof(Scalar)); };
    for (const PartEdge& edge : boundary.below) {
      if (edge.rank == rank()) continue;
      for (const Piece& piece : pieces(part, edge, rank()))
        at(room_from, edge.rank) += room(piece.end - piece.begin);
    }
    const PartMembers& members = boundary.members;
    for (std::size_t m = 1; m < members.ranks.size() && members.ranks.front() == rank(); ++m) {
      const auto own = static_cast<int>(m);
      const auto rest = static_cast<std::size_t>(members.columns.rest(own));
      at(room_from, members.ranks[m]) += room(packed_entries(members.columns, own)) +
                                         room(rest * static_cast<std::size_t>(members.columns.cb_rows));
    }
  }

 private:
  using Block = Kokkos::View<Scalar**, Kokkos::LayoutLeft, Memory, Kokkos::MemoryUnmanaged>;

  int rank() const { return m_channel.comm().rank(); }

  template <class Visit>
  static void for_each_target(const PartEdge& edge, const Visit& visit) {
    if (!edge.members.are_several()) return visit(edge.rank);
    for (const int rank : edge.members.ranks) visit(rank);
  }

  /// Successive entries of a front's contribution.
  struct Piece {
    int front;
    std::size_t begin, end;
  };
  /// What a rank needs of an edge's contributions.
  /// @param part either end of the edge, which is in its numbering
  static std::vector<Piece> pieces(const Part& part, const PartEdge& edge, int to) {
    std::vector<Piece> found;
    std::size_t first = 0;  // row of the front among those of all fronts
    for (const int f : edge.fronts) {
      const auto& begin = part.made().tree.row_begin;
      const auto rows = static_cast<std::size_t>(at(begin, f + 1) - at(begin, f));
      if (!edge.members.are_several()) {
        found.push_back({f, 0, rows * rows});
        continue;
      }
      const int* const columns = edge.columns.data() + first;
      for (const auto& [b, e] :
           edge.members.columns.runs(columns, static_cast<int>(rows), edge.members.index_of(to)))
        found.push_back({f, static_cast<std::size_t>(b) * rows, static_cast<std::size_t>(e) * rows});
      first += rows;
    }
    return found;
  }
  static std::vector<Values> contributions(const Part& part, const PartEdge& edge, int to) {
    std::vector<Values> values;
    for (const auto& [front, begin, end] : pieces(part, edge, to))
      values.push_back(Kokkos::subview(part.contribution(front), std::pair(begin, end)));
    return values;
  }

  /// Entries of U that a member computes and the rank of the part needs.
  static std::size_t packed_entries(const DividedColumns& columns, int member) {
    std::size_t entries = 0;
    for (int b = member; b < columns.blocks(); b += columns.ranks)
      entries += static_cast<std::size_t>(columns.begin(b)) * static_cast<std::size_t>(columns.columns(b));
    return entries +
           static_cast<std::size_t>(columns.pivots) * static_cast<std::size_t>(columns.rest(member));
  }
  Values packed_columns(const DividedColumns& columns, int member) const {
    return Kokkos::subview(m_buffer, std::pair(std::size_t(0), packed_entries(columns, member)));
  }
  /// Calls visit(columns, copy) with each block of these entries, in the front and in a buffer.
  template <class Visit>
  static void for_each_column_block(const Part& part, const DividedColumns& columns, int member,
                                    const Values& packed, const Visit& visit) {
    const int size = columns.pivots + columns.cb_rows;
    Scalar* const lower = part.last_panels();
    Scalar* copy = packed.data();
    const auto visit_with = [&](const auto& block) {
      if (block.size() == 0) return;
      visit(block, Block(copy, block.extent(0), block.extent(1)));
      copy += block.size();
    };
    const Block left(lower, size, columns.pivots);
    for (int b = member; b < columns.blocks(); b += columns.ranks)
      visit_with(
          Kokkos::subview(left, std::pair(0, columns.begin(b)), std::pair(columns.begin(b), columns.end(b))));
    const Block right(lower + static_cast<std::int64_t>(size) * columns.pivots, columns.cb_rows,
                      columns.pivots);  // transposed
    visit_with(Kokkos::subview(right, std::pair(columns.first_rest(member), columns.first_rest(member + 1)),
                               Kokkos::ALL));
  }
  static Values contribution_columns(const Part& part, const DividedColumns& columns, int member) {
    const auto rows = static_cast<std::size_t>(columns.cb_rows);
    return Kokkos::subview(part.contribution(part.made().tree.count() - 1),
                           std::pair(rows * static_cast<std::size_t>(columns.first_rest(member)),
                                     rows * static_cast<std::size_t>(columns.first_rest(member + 1))));
  }

  Channel& m_channel;
  Values m_buffer;
};

/// Messages of a front's elimination between host ranks. This rank works (Communicator::Work) but while it
/// waits for a block.
template <class Scalar>
class BlockMessages final : public DividedFrontMessages<Scalar> {
 public:
  BlockMessages(Communicator& comm, const PartMembers& members)
      : m_comm(comm), m_members(members), m_work(std::in_place, comm) {}

  void send(int, const Scalar* entries, int rows, int columns, std::int64_t ld) override {
    m_packed.resize(static_cast<std::size_t>(rows) * static_cast<std::size_t>(columns));
    for (int c = 0; c < columns; ++c)
      std::copy_n(entries + c * ld, rows, m_packed.data() + static_cast<std::size_t>(c) * length(rows));
    for (const int rank : m_members.ranks)
      if (rank != m_comm.rank()) m_comm.send(rank, tag, m_packed);
  }
  void receive(int block, Scalar* entries, int rows, int columns, std::int64_t ld) override {
    m_work.reset();
    const auto packed =
        m_comm.template receive<Scalar>(at(m_members.ranks, m_members.columns.owner(block)), tag);
    m_work.emplace(m_comm);
    require_elements(packed.size(), length(rows) * static_cast<std::size_t>(columns));
    for (int c = 0; c < columns; ++c)
      std::copy_n(packed.data() + static_cast<std::size_t>(c) * length(rows), rows, entries + c * ld);
  }
  void progress() override { m_comm.progress(); }

 private:
  static constexpr int tag = 251;  // used by no other messages
  static std::size_t length(int rows) { return static_cast<std::size_t>(rows); }

  Communicator& m_comm;
  const PartMembers& m_members;
  std::optional<Communicator::Work> m_work;
  std::vector<Scalar> m_packed;
};

}  // namespace lutra::Impl

#endif
