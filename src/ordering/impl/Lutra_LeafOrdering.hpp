// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#ifndef LUTRA_LEAFORDERING_HPP
#define LUTRA_LEAFORDERING_HPP

#include <cstddef>
#include <cstdint>
#include <string>

#include "Lutra_Error.hpp"
#include "Lutra_GraphBatch.hpp"
#include "Lutra_WordBits.hpp"

namespace lutra::Impl {

/// Minimum degree ordering of many small graphs concurrently, one team per graph, with rows as bit sets (the
/// idea is that of the leaves of STRUMPACK's dissection, P. Ghysels and others). Degrees are exact and
/// weighted; ties are broken by the most recent change, then by the largest number. Steps of a team, with
/// barriers at the lines:
///
///     p = inner vertex of minimum (degree, number)                              team reduction
///     ─────────────────────────────────────────────────────────────────────────
///     front = row of p                                                          one thread per word
///     ─────────────────────────────────────────────────────────────────────────
///     row(i) ∪= front \ {i, p}, its degree, for each i in the front             one thread per row
///     ─────────────────────────────────────────────────────────────────────────
///     eliminate p and each i with row(i) = front \ i (indistinguishable)        one thread per word
///     ─────────────────────────────────────────────────────────────────────────
///     remove them from row(i), and their weight from degree(i)                  one thread per row
///     ─────────────────────────────────────────────────────────────────────────
///
/// Rows of the boundary are not needed: its vertices are only bits in other rows.
template <class ExecutionSpace, class Index>
class LeafOrdering {
 public:
  using MemorySpace = typename ExecutionSpace::memory_space;
  using Batch = GraphBatch<Index, MemorySpace>;
  using Indices = Piece<Index, MemorySpace>;
  using Team = typename Kokkos::TeamPolicy<ExecutionSpace>::member_type;

  /// @param leaves     graphs with inner vertices first, then the boundary; may have unused entries after
  /// these; rows of the boundary are not read
  /// @param n_inner    [n_graphs] number of vertices to order
  /// @param n_boundary [n_graphs] number of boundary vertices
  /// @param order      [n_vertices] from the start of each leaf: vertex eliminated as k-th, numbered in the
  /// batch; other entries are unchanged
  LeafOrdering(const Batch& leaves, const Indices& n_inner, const Indices& n_boundary, const Indices& order)
      : m_leaves(leaves), m_n_inner(n_inner), m_n_boundary(n_boundary), m_order(order) {}

  /// Orders some leaves. Does not fence. Scratch memory per team: one bit for each pair of an inner vertex
  /// and a vertex of the leaf, and two numbers per inner vertex; in shared memory if it fits.
  /// @param chosen       the leaves
  /// @param max_inner    maximum number of inner vertices of a leaf
  /// @param max_vertices maximum number including the boundary
  /// @throws InputError if max_inner is above 16,000
  void run(const ExecutionSpace& exec, const Indices& chosen, Index max_inner, Index max_vertices) {
    if (max_inner > 16000)
      throw InputError("max_inner: leaves of " + std::to_string(max_inner) + " vertices are above 16000");
    m_chosen = chosen;
    using Policy = Kokkos::TeamPolicy<ExecutionSpace>;
    const auto n_leaves = static_cast<int>(chosen.extent(0));
    if (n_leaves == 0 || max_inner == 0) return;
    Policy policy(exec, n_leaves, Kokkos::AUTO);
    const auto bytes = static_cast<int>(scratch_bytes(max_inner, max_vertices));
    m_level = bytes <= policy.scratch_size_max(0) ? 0 : 1;
    policy.set_scratch_size(m_level, Kokkos::PerTeam(bytes));
    Kokkos::parallel_for("lutra::ordering::order_leaves", policy, *this);
  }

  /// Scratch memory per team for leaves of these sizes.
  static std::size_t scratch_bytes(Index max_inner, Index max_vertices) {
    const int n_words = words_of(max_vertices);
    const auto words = static_cast<std::size_t>(max_inner) * static_cast<std::size_t>(stride_of(n_words)) +
                       2 * static_cast<std::size_t>(n_words);
    return words * sizeof(Word) + 2 * static_cast<std::size_t>(max_inner) * sizeof(Index) + 64;
  }

  KOKKOS_FUNCTION void operator()(const Team& team) const {
    Leaf leaf = make_leaf(team);
    fill_rows(team, leaf);
    Index n_ordered = 0;
    while (n_ordered < leaf.n_inner) n_ordered += eliminate(team, leaf, next_pivot(team, leaf), n_ordered);
  }

 private:
  using Word = std::uint64_t;
  static constexpr Index eliminated = -1;    // degree of an eliminated vertex
  static constexpr int bits_of_number = 14;  // bits of an inner vertex's number

  struct Leaf {
    Index first, n_inner, n_vertices;  // first: number of its first vertex in the batch
    int n_words;                       // per row
    Word *rows, *front, *gone;         // [n_inner · stride]; [n_words] twice
    Index *degree, *changed;  // [n_inner] changed: vertices ordered before the last change of the degree
    const Index* weight;      // in the batch
    int stride;
  };

  KOKKOS_FUNCTION static int words_of(Index n) { return static_cast<int>((n + 63) / 64); }
  /// Odd row stride: threads with adjacent rows access different banks of shared memory.
  KOKKOS_FUNCTION static int stride_of(int n_words) { return n_words | 1; }

  KOKKOS_FUNCTION Leaf make_leaf(const Team& team) const {
    const Index g = m_chosen(team.league_rank());
    Leaf leaf;
    leaf.first = m_leaves.first_vertex(g);
    leaf.n_inner = m_n_inner(g);
    leaf.n_vertices = leaf.n_inner + m_n_boundary(g);
    leaf.n_words = words_of(leaf.n_vertices);
    leaf.stride = stride_of(leaf.n_words);
    const auto words = static_cast<std::size_t>(leaf.n_inner) * static_cast<std::size_t>(leaf.stride);
    leaf.rows = take<Word>(team, words + 2 * static_cast<std::size_t>(leaf.n_words));
    leaf.front = leaf.rows + words;
    leaf.gone = leaf.front + leaf.n_words;
    leaf.degree = take<Index>(team, 2 * static_cast<std::size_t>(leaf.n_inner));
    leaf.changed = leaf.degree + leaf.n_inner;
    leaf.weight = m_leaves.vertex_weights.data() + leaf.first;
    return leaf;
  }
  template <class Value>
  KOKKOS_FUNCTION Value* take(const Team& team, std::size_t count) const {
    return static_cast<Value*>(
        team.team_scratch(m_level).get_shmem_aligned(count * sizeof(Value), alignof(Value)));
  }

  KOKKOS_FUNCTION static Word bit(Index i) { return Word(1) << (i % 64); }
  KOKKOS_FUNCTION static bool has(const Word* set, Index i) { return (set[i / 64] & bit(i)) != 0; }

  /// Weight of the vertices in word w of a set.
  KOKKOS_FUNCTION static Index weight_of(const Leaf& leaf, Word set, int w) {
    Index weight = 0;
    for (; set != 0; set &= set - 1) weight += leaf.weight[w * 64 + lowest_one(set)];
    return weight;
  }
  KOKKOS_FUNCTION static Index weight_of(const Leaf& leaf, const Word* set) {
    Index weight = 0;
    for (int w = 0; w < leaf.n_words; ++w) weight += weight_of(leaf, set[w], w);
    return weight;
  }

  KOKKOS_FUNCTION void fill_rows(const Team& team, const Leaf& leaf) const {
    Kokkos::parallel_for(Kokkos::TeamThreadRange(team, leaf.n_inner), [&](Index i) {
      Word* const row = leaf.rows + i * leaf.stride;
      for (int w = 0; w < leaf.n_words; ++w) row[w] = 0;
      for (Index k = m_leaves.row_map(leaf.first + i); k < m_leaves.row_map(leaf.first + i + 1); ++k) {
        const Index u = m_leaves.neighbours(k) - leaf.first;
        row[u / 64] |= bit(u);
      }
      leaf.degree[i] = weight_of(leaf, row);
      leaf.changed[i] = 0;
    });
    team.team_barrier();
  }

  KOKKOS_FUNCTION Index next_pivot(const Team& team, const Leaf& leaf) const {
    using Key = std::uint64_t;  // degree, vertices left at its last change, number from the end
    constexpr Key mask = (Key(1) << bits_of_number) - 1;
    Key key;
    Kokkos::parallel_reduce(
        Kokkos::TeamThreadRange(team, leaf.n_inner),
        [&](Index i, Key& min) {
          if (leaf.degree[i] == eliminated) return;
          const Key own = static_cast<Key>(leaf.degree[i]) << 2 * bits_of_number |
                          static_cast<Key>(leaf.n_inner - leaf.changed[i]) << bits_of_number |
                          static_cast<Key>(leaf.n_inner - i);
          if (own < min) min = own;
        },
        Kokkos::Min<Key>(key));
    return leaf.n_inner - static_cast<Index>(key & mask);
  }

  /// @return number of vertices eliminated
  KOKKOS_FUNCTION Index eliminate(const Team& team, const Leaf& leaf, Index p, Index n_ordered) const {
    const Word* const row = leaf.rows + p * leaf.stride;
    Kokkos::parallel_for(Kokkos::TeamThreadRange(team, leaf.n_words), [&](int w) { leaf.front[w] = row[w]; });
    const Index front_weight = leaf.degree[p];
    team.team_barrier();
    join_front(team, leaf, p, n_ordered + 1);
    Index n_gone = 0;
    Kokkos::parallel_reduce(
        Kokkos::TeamThreadRange(team, leaf.n_words),
        [&](int w, Index& sum) {
          leaf.gone[w] = gone_in(leaf, w, front_weight);
          sum += count_ones(leaf.gone[w]);
        },
        n_gone);
    team.team_barrier();
    const Index position = leaf.first + n_ordered;
    Kokkos::single(Kokkos::PerTeam(team), [&]() {
      m_order(position) = leaf.first + p;
      leaf.degree[p] = eliminated;
    });
    remove_gone(team, leaf, position + 1);
    return n_gone + 1;
  }

  KOKKOS_FUNCTION void join_front(const Team& team, const Leaf& leaf, Index p, Index n_ordered) const {
    Kokkos::parallel_for(Kokkos::TeamThreadRange(team, leaf.n_inner), [&](Index i) {
      if (!has(leaf.front, i)) return;
      Word* const row = leaf.rows + i * leaf.stride;
      for (int w = 0; w < leaf.n_words; ++w) row[w] |= leaf.front[w];
      row[i / 64] &= ~bit(i);
      row[p / 64] &= ~bit(p);
      leaf.degree[i] = weight_of(leaf, row);
      leaf.changed[i] = n_ordered;
    });
    team.team_barrier();
  }

  /// Inner vertices in a word of the front without neighbours outside the front.
  KOKKOS_FUNCTION static Word gone_in(const Leaf& leaf, int w, Index front_weight) {
    Word gone = 0;
    for (Word rest = leaf.front[w]; rest != 0; rest &= rest - 1) {
      const auto i = static_cast<Index>(w * 64 + lowest_one(rest));
      if (i < leaf.n_inner && leaf.degree[i] + leaf.weight[i] == front_weight) gone |= bit(i);
    }
    return gone;
  }

  KOKKOS_FUNCTION void remove_gone(const Team& team, const Leaf& leaf, Index position) const {
    Kokkos::parallel_for(Kokkos::TeamThreadRange(team, leaf.n_inner), [&](Index i) {
      if (!has(leaf.front, i)) return;
      if (has(leaf.gone, i)) {
        Index before = count_ones(leaf.gone[i / 64] & (bit(i) - 1));
        for (Index w = 0; w < i / 64; ++w) before += count_ones(leaf.gone[w]);
        m_order(position + before) = leaf.first + i;
        leaf.degree[i] = eliminated;
        return;
      }
      Word* const row = leaf.rows + i * leaf.stride;
      for (int w = 0; w < leaf.n_words; ++w) {
        if (leaf.gone[w] == 0) continue;
        row[w] &= ~leaf.gone[w];
        leaf.degree[i] -= weight_of(leaf, leaf.gone[w], w);
      }
    });
    team.team_barrier();
  }

  Batch m_leaves;
  Indices m_n_inner, m_n_boundary, m_order, m_chosen;
  int m_level = 0;
};

}  // namespace lutra::Impl

#endif
