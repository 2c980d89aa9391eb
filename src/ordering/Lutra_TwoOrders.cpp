// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "Lutra_TwoOrders.hpp"

#include <Kokkos_Core.hpp>
#include <new>

#include "Lutra_NestedDissection.hpp"
#include "Lutra_QuotientGraph.hpp"

namespace lutra {

template <class Index>
TwoOrders<Index>::TwoOrders(const SymmetricGraph<Index>& graph, const std::vector<Index>& weights,
                            const MemoryBudget& budget)
    : m_reduced(reduce_graph(graph, {}, weights, budget.run())), m_budget(budget) {}

template <class Index>
TwoOrders<Index>::~TwoOrders() = default;

template <class Index>
bool TwoOrders<Index>::advance_degree(std::int64_t max_visits) {
  if (m_has_degree) return true;
  if (m_quotient == nullptr) {
    const SymmetricGraph<Index>& graph = m_reduced.graph;
    m_quotient = std::make_unique<Impl::QuotientGraph<Index>>();
    m_quotient->begin(graph.size(), 0, graph.row_map.data(), graph.neighbours.data(),
                      m_reduced.weights.data());
  }
  constexpr std::int64_t at_once = std::int64_t(1) << 19;  // visits between queries, a few milliseconds
  const RunControl& run = m_budget.run();
  std::int64_t limit = 0;
  do {
    limit = run.is_limited() && max_visits - m_visits > at_once ? m_visits + at_once : max_visits;
    m_has_degree = m_quotient->advance(limit);
    m_visits = m_quotient->visits();
    run.poll();
  } while (!m_has_degree && limit < max_visits);
  if (!m_has_degree) return false;
  m_degree.resize(static_cast<std::size_t>(m_reduced.graph.size()));
  m_quotient->write(m_degree.data());
  m_quotient.reset();
  return true;
}

template <class Index>
void TwoOrders<Index>::dissect(const std::function<bool(std::int64_t)>& goes_on) {
  bool stopped = false;
  DissectionControl control;
  if (goes_on) control.goes_on = [&](std::int64_t weight) { return !(stopped = !goes_on(weight)); };
  m_has_dissection = false;
  try {
    m_dissection = dissect_reduced(m_reduced, control, m_budget);
    m_has_dissection = !stopped;
  } catch (const std::bad_alloc&) {
  }
}

template <class Index>
void TwoOrders<Index>::advance_both(std::int64_t max_visits, const std::function<bool()>& wants_dissection) {
  bool wanted = true, works = false;  // whether minimum degree, or what follows it, is under way
  const auto other_work = [&] {
    works = true;
    wanted = !advance_degree(max_visits) || wants_dissection();
    works = false;
    return wanted;
  };
  m_has_dissection = false;
  try {
    m_dissection = dissect_reduced(m_reduced, {other_work, {}}, m_budget);
    m_has_dissection = wanted;
  } catch (const std::bad_alloc&) {
    if (works) throw;
  } catch (...) {
    if (wanted) throw;
  }
}

template <class Index>
std::vector<Index> TwoOrders<Index>::degree_order() const {
  return m_has_degree ? expand_order(m_reduced, m_degree) : std::vector<Index>();
}

template <class Index>
std::vector<Index> TwoOrders<Index>::dissection_order() const {
  return m_has_dissection ? expand_order(m_reduced, m_dissection) : std::vector<Index>();
}

template class TwoOrders<int>;
template class TwoOrders<std::int64_t>;

}  // namespace lutra
