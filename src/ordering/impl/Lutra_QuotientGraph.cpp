// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "Lutra_QuotientGraph.hpp"

namespace lutra::Impl {
namespace {

constexpr int list_visits =
    8;  // cost of reading a list's mark, links and first entry, which are scattered, in entries
constexpr int min_long_list = 256;  // shorter lists are read in each step that changes them
constexpr int list_share = 8;  // a longer one is read after as many such steps as an eighth of its entries

}  // namespace

template <class Index>
void QuotientGraph<Index>::begin(Index n, Index n_boundary, const Index* row_map, const Index* neighbours,
                                 const Index* weights) {
  m_n_ordered = n - n_boundary;
  m_visits = 0;
  reset_vertices(n);
  set_up(row_map, neighbours, weights);
}

template <class Index>
bool QuotientGraph<Index>::advance(std::int64_t max_visits) {
  while (m_ordered_left > 0 && m_visits <= max_visits) eliminate(next_pivot());
  return m_ordered_left == 0;
}

template <class Index>
void QuotientGraph<Index>::set_up(const Index* row_map, const Index* neighbours, const Index* weights) {
  m_pool_end = row_map[m_n] - row_map[0];
  if (m_pool.size() < at(m_pool_end)) m_pool.resize(at(m_pool_end + m_pool_end / 4 + m_n));
  std::copy(neighbours, neighbours + m_pool_end, m_pool.begin());
  m_weight_left = 0;
  for (Index i = 0; i < m_n; ++i) {
    m_lists[at(i)] = {row_map[i] - row_map[0], 0, row_map[i + 1] - row_map[i], 0};
    m_weights[at(i)] = weights == nullptr ? 1 : weights[i];
    m_weight_left += m_weights[at(i)];
    m_marks[at(i)] = {0, m_lists[at(i)].length};
  }
  for (Index i = 0; weights != nullptr && i < m_n; ++i) {
    const List list = m_lists[at(i)];
    Index& degree = m_marks[at(i)].degree = 0;
    for (Index k = list.begin; k < list.begin + list.length; ++k) degree += weights[m_pool[at(k)]];
  }
  // Degrees above n are rare, since only weights cause them: they share the last bucket.
  m_last_bucket = std::min(m_weight_left, std::max<Index>(m_n, 1024));
  if (m_head.size() <= at(m_last_bucket)) m_head.resize(at(m_last_bucket) + 1, -1);
  m_min_bucket = m_last_bucket;
  m_ordered_left = 0;
  for (Index i = 0; i < m_n_ordered; ++i) {
    m_ordered_left += m_weights[at(i)];
    link(i);
  }
}

template <class Index>
void QuotientGraph<Index>::reset_vertices(Index n) {
  m_n = n;
  if (m_lists.size() < at(n)) {
    for (auto* array : {&m_weights, &m_next_member, &m_last_member, &m_parent, &m_subtree_size})
      array->resize(at(n));
    m_lists.resize(at(n));
    m_links.resize(at(n));
    m_marks.resize(at(n));
    std::size_t chains = 64;
    while (chains < at(n) / 4 && chains < 65536) chains *= 2;
    m_chain.resize(std::max(m_chain.size(), chains), -1);
  }
  for (Index i = 0; i < n; ++i) {
    m_next_member[at(i)] = m_parent[at(i)] = -1;
    m_last_member[at(i)] = i;
  }
  m_pivots.clear();
  m_round = 0;
  m_tag = 2;
  m_max_element = 0;
}

template <class Index>
void QuotientGraph<Index>::link(Index i) {
  const Index bucket = bucket_of(i), next = m_head[at(bucket)];
  m_links[at(i)] = {next, -1};
  if (next >= 0) m_links[at(next)].previous = i;
  m_head[at(bucket)] = i;
  m_min_bucket = std::min(m_min_bucket, bucket);
}

template <class Index>
void QuotientGraph<Index>::unlink(Index i) {
  const Links links = m_links[at(i)];
  if (links.next >= 0) m_links[at(links.next)].previous = links.previous;
  if (links.previous >= 0) {
    m_links[at(links.previous)].next = links.next;
  } else {
    m_head[at(bucket_of(i))] = links.next;
  }
}

/// Appends the members of j to those of i.
template <class Index>
void QuotientGraph<Index>::append_members(Index i, Index j) {
  m_next_member[at(m_last_member[at(i)])] = j;
  m_last_member[at(i)] = m_last_member[at(j)];
}

template <class Index>
Index QuotientGraph<Index>::next_pivot() {
  while (m_head[at(m_min_bucket)] < 0) ++m_min_bucket;
  const Index p = m_head[at(m_min_bucket)];
  unlink(p);
  return p;
}

template <class Index>
void QuotientGraph<Index>::eliminate(Index p) {
  const Index weight = m_weights[at(p)];
  m_ordered_left -= weight;
  m_weight_left -= weight;
  m_weights[at(p)] = 0;
  m_pivots.push_back(p);
  if (m_lists[at(p)].skipped > 0) bring_up_to_date(p, p);
  collect_neighbours(p);
  if (m_degree == m_weight_left) {
    take_all(p);
  } else {
    weigh_elements(p);
    update_lists(p);
    merge_equal_variables();
  }
  finish(p);
}

/// Appends the live variables of a list to L(p) at `out`. @returns its end
template <class Index>
Index QuotientGraph<Index>::append_list(Index begin, Index end, Index out) {
  for (Index k = begin; k < end; ++k) {
    const Index i = m_pool[at(k)], weight = m_weights[at(i)];
    if (weight <= 0) continue;  // eliminated, merged, or in L(p)
    m_degree += weight;
    m_weights[at(i)] = -weight;
    m_pool[at(out++)] = i;
    if (!in_boundary(i)) unlink(i);
  }
  return out;
}

template <class Index>
void QuotientGraph<Index>::collect_neighbours(Index p) {
  m_degree = 0;
  m_visits += list_visits + m_lists[at(p)].length;
  const Index n_elements = m_lists[at(p)].n_elements;
  if (n_elements == 0) {  // in place
    const List list = m_lists[at(p)];
    m_begin = list.begin;
    m_end = append_list(list.begin, list.begin + list.length, list.begin);
    return;
  }
  Index bound = m_lists[at(p)].length - n_elements;
  for (Index k = 0; k < n_elements; ++k) bound += m_lists[at(m_pool[at(m_lists[at(p)].begin + k)])].length;
  make_room(bound);
  const List list = m_lists[at(p)];
  m_begin = m_end = m_pool_end;
  for (Index k = list.begin; k < list.begin + n_elements; ++k) {
    const Index e = m_pool[at(k)];
    const List variables = m_lists[at(e)];
    m_visits += list_visits + variables.length;
    m_end = append_list(variables.begin, variables.begin + variables.length, m_end);
    absorb(e, p);
  }
  m_end = append_list(list.begin + n_elements, list.begin + list.length, m_end);
}

template <class Index>
void QuotientGraph<Index>::absorb(Index e, Index p) {
  m_marks[at(e)].value = 0;
  m_lists[at(e)].length = 0;
  m_parent[at(e)] = p;
}

/// Eliminates all that is left with p, whose L(p) contains it.
template <class Index>
void QuotientGraph<Index>::take_all(Index p) {
  for (const Index e : m_pivots)
    if (e != p && m_parent[at(e)] < 0 && m_lists[at(e)].length > 0) absorb(e, p);
  for (Index k = m_begin; k < m_end; ++k)
    if (!in_boundary(m_pool[at(k)])) take(p, m_pool[at(k)]);
}

/// Whether the list of i in L(p) is read in this step. If steps were skipped, brings it up to date first.
template <class Index>
bool QuotientGraph<Index>::begin_reading(Index p, Index i) {
  List& list = m_lists[at(i)];
  if (list.length >= min_long_list && ++list.skipped < list.length / list_share) return false;
  if (list.skipped > 1) bring_up_to_date(p, i);
  list.skipped = 0;
  return true;
}

/// Replaces the pivots in the list of i, eliminated since it was last read, by the elements they are part of
/// now. Leaves out p and L(p).
template <class Index>
void QuotientGraph<Index>::bring_up_to_date(Index p, Index i) {
  m_links[at(p)].previous = ++m_round;
  List& list = m_lists[at(i)];
  m_visits += list.length;
  m_variables.clear();
  Index out = list.begin;
  for (Index k = list.begin; k < list.begin + list.length; ++k) {
    const Index j = m_pool[at(k)];
    if (m_weights[at(j)] > 0) m_variables.push_back(j);
    if (m_weights[at(j)] != 0) continue;
    for (Index e = j; e >= 0 && m_links[at(e)].previous != m_round; e = m_parent[at(e)]) {
      m_links[at(e)].previous = m_round;
      if (m_parent[at(e)] < 0 && m_lists[at(e)].length > 0) m_pool[at(out++)] = e;
    }
  }
  list.n_elements = out - list.begin;
  list.length = list.n_elements + static_cast<Index>(m_variables.size());
  list.skipped = 0;
  std::copy(m_variables.begin(), m_variables.end(), m_pool.begin() + out);
}

/// Computes |L(e) \ L(p)| for each element e adjacent to L(p).
template <class Index>
void QuotientGraph<Index>::weigh_elements(Index p) {
  for (Index k = m_begin; k < m_end; ++k) {
    const Index i = m_pool[at(k)];
    if (!begin_reading(p, i)) continue;
    const Tag weight = static_cast<Tag>(-m_weights[at(i)]);
    const List list = m_lists[at(i)];
    for (Index q = list.begin; q < list.begin + list.n_elements; ++q) {
      Mark& mark = m_marks[at(m_pool[at(q)])];
      if (mark.value >= m_tag) {
        mark.value -= weight;
      } else if (mark.value != 0) {
        mark.value = static_cast<Tag>(mark.degree) + m_tag - weight;
      }
    }
  }
}

template <class Index>
void QuotientGraph<Index>::update_lists(Index p) {
  for (Index k = m_begin; k < m_end; ++k) {
    const Index i = m_pool[at(k)];
    if (!update_list(p, i) && !in_boundary(i)) take(p, i);
  }
}

/// Eliminates i in L(p) with p.
template <class Index>
void QuotientGraph<Index>::take(Index p, Index i) {
  const Index weight = -m_weights[at(i)];
  m_degree -= weight;
  m_ordered_left -= weight;
  m_weight_left -= weight;
  m_weights[at(i)] = 0;
  m_lists[at(i)].length = 0;
  append_members(p, i);
}

/// Updates lists, degree (without |L(p) \ i|) and hash of i in L(p), unless its list is skipped.
/// @return whether i has neighbours outside L(p)
template <class Index>
bool QuotientGraph<Index>::update_list(Index p, Index i) {
  List& list = m_lists[at(i)];
  m_visits += list_visits;
  if (list.skipped > 0) {
    m_links[at(i)] = {-1, 0};
    return true;
  }
  m_visits += list.length + list.n_elements;  // elements are also weighed
  Index degree = 0, out = list.begin;
  Tag hash = 0;
  for (Index k = list.begin; k < list.begin + list.n_elements; ++k) {
    const Index e = m_pool[at(k)];
    const Tag value = m_marks[at(e)].value;
    if (value == 0) continue;
    if (value == m_tag) {  // L(e) ⊆ L(p)
      absorb(e, p);
      continue;
    }
    degree += static_cast<Index>(value - m_tag);
    hash += static_cast<Tag>(e);
    m_pool[at(out++)] = e;
  }
  const Index first_variable = out;
  for (Index k = list.begin + list.n_elements; k < list.begin + list.length; ++k) {
    const Index j = m_pool[at(k)], weight = m_weights[at(j)];
    if (weight <= 0) continue;
    degree += weight;
    hash += static_cast<Tag>(j);
    m_pool[at(out++)] = j;
  }
  // The lists have lost p or an element absorbed by p, so there is a free entry for p.
  m_pool[at(out)] = m_pool[at(first_variable)];
  m_pool[at(first_variable)] = p;
  list.n_elements = first_variable + 1 - list.begin;
  list.length = out + 1 - list.begin;
  Mark& mark = m_marks[at(i)];
  mark.degree = std::min(mark.degree, degree);
  if (degree == 0 && !in_boundary(i)) return false;
  hash &= static_cast<Tag>(std::numeric_limits<Index>::max());
  Index& head = m_chain[hash & (m_chain.size() - 1)];
  m_links[at(i)] = {head, static_cast<Index>(hash)};
  head = i;
  return true;
}

template <class Index>
void QuotientGraph<Index>::merge_equal_variables() {
  advance_tag(static_cast<Tag>(m_max_element));
  for (Index k = m_begin; k < m_end; ++k) {
    const Index i = m_pool[at(k)];
    if (m_weights[at(i)] == 0) continue;
    Index& head = m_chain[at(m_links[at(i)].previous) & (m_chain.size() - 1)];
    const Index first = head;
    head = -1;
    if (first >= 0) merge_chain(first);
  }
}

/// Merges the variables of a chain that have the same lists; marks entries of lists by m_tag.
template <class Index>
void QuotientGraph<Index>::merge_chain(Index first) {
  for (Index i = first; i >= 0; i = m_links[at(i)].next) {
    bool is_marked = false;
    for (Index j = m_links[at(i)].next, before = i; j >= 0; j = m_links[at(j)].next) {
      ++m_visits;
      if (m_links[at(j)].previous != m_links[at(i)].previous || !is_like(j, i)) {
        before = j;
        continue;
      }
      const List list = m_lists[at(i)];
      if (!is_marked) {
        advance_tag(1);
        for (Index k = list.begin; k < list.begin + list.length; ++k)
          m_marks[at(m_pool[at(k)])].value = m_tag;
        is_marked = true;
      }
      m_visits += list.length;
      const Index begin = m_lists[at(j)].begin;
      if (!std::all_of(m_pool.begin() + begin, m_pool.begin() + begin + list.length,
                       [this](Index x) { return m_marks[at(x)].value == m_tag; })) {
        before = j;
        continue;
      }
      m_weights[at(i)] += m_weights[at(j)];
      m_marks[at(i)].degree = std::min(m_marks[at(i)].degree, m_marks[at(j)].degree);
      m_weights[at(j)] = m_lists[at(j)].length = 0;
      append_members(i, j);
      m_links[at(before)].next = m_links[at(j)].next;
    }
  }
}

/// Whether j can have the same lists as i and is on the same side of the boundary.
template <class Index>
bool QuotientGraph<Index>::is_like(Index j, Index i) const {
  const List &a = m_lists[at(i)], &b = m_lists[at(j)];
  return a.length == b.length && a.n_elements == b.n_elements && in_boundary(i) == in_boundary(j);
}

/// Completes the degrees in L(p) and makes p an element.
template <class Index>
void QuotientGraph<Index>::finish(Index p) {
  Index out = m_begin;
  for (Index k = m_begin; k < m_end; ++k) {
    const Index i = m_pool[at(k)], weight = -m_weights[at(i)];
    if (weight == 0) continue;
    m_weights[at(i)] = weight;
    Mark& mark = m_marks[at(i)];
    mark.degree = std::min(mark.degree, m_weight_left - m_degree) + (m_degree - weight);
    if (!in_boundary(i)) link(i);
    m_pool[at(out++)] = i;
  }
  if (m_end > m_pool_end) m_pool_end = out;  // unless constructed in place
  m_lists[at(p)] = {m_begin, 0, out - m_begin, 0};
  m_links[at(p)] = {-1, 0};
  m_marks[at(p)] = {out > m_begin ? Tag(1) : Tag(0), m_degree};
  m_max_element = std::max(m_max_element, m_degree);
  advance_tag(1);
}

/// Makes all existing marks smaller than m_tag, if none is above m_tag + step − 1.
template <class Index>
void QuotientGraph<Index>::advance_tag(Tag step) {
  m_tag += step;
  const Tag reserve = static_cast<Tag>(std::numeric_limits<Index>::max());
  if (m_tag <= std::numeric_limits<Tag>::max() - reserve) return;
  for (Index i = 0; i < m_n; ++i) m_marks[at(i)].value = std::min(m_marks[at(i)].value, Tag(1));
  m_tag = 2;
}

/// Ensures space for `bound` more entries at the end of the pool.
template <class Index>
void QuotientGraph<Index>::make_room(Index bound) {
  if (m_pool.size() - at(m_pool_end) >= at(bound)) return;
  collect_garbage();
  if (m_pool.size() - at(m_pool_end) < at(bound))
    m_pool.resize(at(m_pool_end) + at(bound) + m_pool.size() / 4);
}

/// Compacts the live lists. Each list's first entry is exchanged with its owner, stored as −1 − owner.
template <class Index>
void QuotientGraph<Index>::collect_garbage() {
  for (Index i = 0; i < m_n; ++i) {
    List& list = m_lists[at(i)];
    if (list.length == 0) continue;
    const Index first = m_pool[at(list.begin)];
    m_pool[at(list.begin)] = -1 - i;
    list.begin = first;
  }
  Index out = 0;
  for (Index k = 0; k < m_pool_end;) {
    if (m_pool[at(k)] >= 0) {
      ++k;
      continue;
    }
    List& list = m_lists[at(-1 - m_pool[at(k)])];
    m_pool[at(out)] = list.begin;
    list.begin = out;
    std::copy(m_pool.begin() + k + 1, m_pool.begin() + k + list.length, m_pool.begin() + out + 1);
    out += list.length;
    k += list.length;
  }
  m_pool_end = out;
}

template <class Index>
void QuotientGraph<Index>::write(Index* permutation) {
  for (const Index p : m_pivots) m_subtree_size[at(p)] = 0;
  for (const Index p : m_pivots) {
    for (Index i = p; i >= 0; i = m_next_member[at(i)]) ++m_subtree_size[at(p)];
    if (m_parent[at(p)] >= 0) m_subtree_size[at(m_parent[at(p)])] += m_subtree_size[at(p)];
  }
  Index end = m_n_ordered;  // end of the roots' subtrees not yet written; m_subtree_size: of the children's
  for (auto it = m_pivots.rbegin(); it != m_pivots.rend(); ++it) {
    const Index p = *it, size = m_subtree_size[at(p)];
    Index& own_end = m_parent[at(p)] >= 0 ? m_subtree_size[at(m_parent[at(p)])] : end;
    Index position = own_end;
    own_end -= size;
    for (Index i = p; i >= 0; i = m_next_member[at(i)]) permutation[--position] = i;
    m_subtree_size[at(p)] = position;
  }
}

template class QuotientGraph<int>;
template class QuotientGraph<std::int64_t>;

}  // namespace lutra::Impl
