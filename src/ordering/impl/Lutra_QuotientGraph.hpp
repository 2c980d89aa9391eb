// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#ifndef LUTRA_QUOTIENTGRAPH_HPP
#define LUTRA_QUOTIENTGRAPH_HPP

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <limits>
#include <type_traits>
#include <vector>

namespace lutra::Impl {

/// Approximate minimum degree on a quotient graph (P. R. Amestoy, T. A. Davis and I. S. Duff, SIAM J. Matrix
/// Anal. Appl. 17, 1996). Vertices are *variables*, not yet eliminated, or *elements*, eliminated. The list
/// of a variable i holds its adjacent elements E(i) and variables A(i); that of an element e holds L(e), the
/// variables connected by its elimination. Elimination of p:
///
///     L(p) = (A(p) ∪ L(e) for all e in E(p)) \ p; these e are absorbed by p, and so is each other e with
///            L(e) ⊆ L(p) (aggressive absorption)
///     E(i) loses what is absorbed and gains p, A(i) loses p and L(p), for each i in L(p)
///     degree(i) = min(old degree + |L(p) \ i|, |A(i)| + |L(p) \ i| + Σ |L(e) \ L(p)| for e ≠ p in E(i))
///     variables of L(p) with no other neighbours are eliminated with p (mass elimination); those with the
///     same lists become one variable
///
/// so lists never need more memory than the graph. |·| sums weights. Among variables of equal degree, the one
/// whose degree was computed last comes first: the order is deterministic.
///
/// A list of 256 entries or more is read only after as many steps as an eighth of its entries. Until then its
/// variable i keeps the first bound of degree(i), is not merged, and counts in |L(e) \ L(p)| as outside L(p);
/// a pivot in its list means the element that the pivot is part of. The work of a step is then proportional
/// to |L(p)|, not to the lengths of all these lists.
///
/// An object keeps its memory, so that it can order many small graphs without allocating. It copies the
/// graph.
template <class Index>
class QuotientGraph {
 public:
  /// @param n           number of vertices
  /// @param n_boundary  number of last vertices that are counted in degrees and never ordered
  /// @param row_map     [n + 1] start of each list in `neighbours`, relative to row_map[0]
  /// @param neighbours  each edge twice, no loops; edges inside the boundary may be absent
  /// @param weights     [n] positive; their sum fits in Index; nullptr: all 1
  void begin(Index n, Index n_boundary, const Index* row_map, const Index* neighbours, const Index* weights);

  /// Eliminates vertices until the visits exceed a limit. May be called again with another limit.
  /// @return whether all vertices are eliminated
  bool advance(std::int64_t max_visits = std::numeric_limits<std::int64_t>::max());

  /// Writes the order, after all vertices are eliminated: subtrees of the assembly tree become contiguous,
  /// children stay in elimination order.
  /// @param permutation [n − n_boundary] vertex eliminated as k-th, in a postorder of the assembly tree
  void write(Index* permutation);

  /// List entries visited so far, which dominate the time; locating a list counts as several.
  std::int64_t visits() const { return m_visits; }

 private:
  using Tag = std::make_unsigned_t<Index>;
  struct List {
    Index begin;       // in m_pool
    Index n_elements;  // variables: number of leading entries that are elements
    Index length;      // 0 after a variable is merged or an element absorbed
    Index skipped;     // variables: number of steps since the list was read; elements: 0
  };
  struct Links {           // of a degree list, or, during a step, of a hash chain
    Index next, previous;  // elements: previous is the last m_round that met it
  };
  struct Mark {
    Tag value;     // elements: 0 if absorbed; m_tag + |L(e) \ L(p)| if met in this step; else smaller
    Index degree;  // variables: approximate external degree; elements: |L(e)|
  };
  static std::size_t at(Index i) { return static_cast<std::size_t>(i); }

  void set_up(const Index* row_map, const Index* neighbours, const Index* weights);
  void reset_vertices(Index n);
  Index next_pivot();
  void eliminate(Index p);
  void collect_neighbours(Index p);
  Index append_list(Index begin, Index end, Index out);
  bool begin_reading(Index p, Index i);
  void bring_up_to_date(Index p, Index i);
  void weigh_elements(Index p);
  void update_lists(Index p);
  void take(Index p, Index i);
  void take_all(Index p);
  bool update_list(Index p, Index i);
  void absorb(Index e, Index p);
  void merge_equal_variables();
  void merge_chain(Index first);
  bool is_like(Index j, Index i) const;
  void finish(Index p);
  void make_room(Index bound);
  void collect_garbage();
  void advance_tag(Tag step);

  bool in_boundary(Index i) const { return i >= m_n_ordered; }
  Index bucket_of(Index i) const { return std::min(m_marks[at(i)].degree, m_last_bucket); }
  void link(Index i);
  void unlink(Index i);
  void append_members(Index i, Index j);

  Index m_n = 0, m_n_ordered = 0;  // number of vertices, and of those outside the boundary
  Index m_ordered_left = 0;        // weight of the variables still to be ordered
  Index m_weight_left = 0;         // the same plus the boundary's weight
  Tag m_tag = 1;
  Index m_max_element = 0;  // largest |L(e)| so far
  Index m_min_bucket = 0, m_last_bucket = 0;
  Index m_pool_end = 0;
  Index m_begin = 0, m_end = 0, m_degree = 0;  // L(p) in m_pool, and |L(p)|
  Index m_round = 0;                           // number of lists brought up to date
  std::int64_t m_visits = 0;

  std::vector<Index> m_pool;          // all lists
  std::vector<List> m_lists;          // [n]
  std::vector<Links> m_links;         // [n] during a step, for variables in L(p): next in chain, hash
  std::vector<Mark> m_marks;          // [n]
  std::vector<Index> m_weights;       // [n] variables: weight, negative while in L(p); else 0
  std::vector<Index> m_head;          // first variable of each degree; −1: none
  std::vector<Index> m_chain;         // [power of two] first variable of L(p) with each hash; −1: none
  std::vector<Index> m_next_member;   // [n] vertices ordered together with a variable
  std::vector<Index> m_last_member;   // [n]
  std::vector<Index> m_parent;        // [n] element that absorbed an element; −1: none
  std::vector<Index> m_pivots;        // in elimination order
  std::vector<Index> m_variables;     // of a list that is brought up to date
  std::vector<Index> m_subtree_size;  // [n] number of vertices; later their end
};

}  // namespace lutra::Impl

#endif
