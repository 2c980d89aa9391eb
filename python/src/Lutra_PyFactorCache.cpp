// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "Lutra_PyFactorCache.hpp"

#include <algorithm>
#include <utility>

#include "Lutra_Error.hpp"

namespace lutra::Python {

namespace {

/// Whether X of a system was written.
bool has_solution(Status status) {
  return is_solved(status) || status == Status::error_above_tolerance;
}

/// The first of the systems that failed, and how many there are; empty: none.
std::string describe_failures(const std::vector<Status>& statuses) {
  std::string text;
  std::size_t count = 0;
  for (std::size_t k = 0; k < statuses.size(); ++k) {
    if (has_solution(statuses[k])) continue;
    if (++count > 5) continue;
    text += (count > 1 ? ", " : "") + ("system " + std::to_string(k)) + " is ";
    for (const char letter : to_string(statuses[k])) text += letter == '_' ? ' ' : letter;
  }
  if (count == 0) return {};
  return std::to_string(count) + " of " + std::to_string(statuses.size()) + " systems: " + text +
         (count > 5 ? ", …" : "");
}

}  // namespace

/// Factors, and the values that they belong to.
struct FactorCache::Slot {
  std::unique_ptr<Solver> single;       ///< either this
  std::unique_ptr<Batch> batch;         ///< or this
  std::shared_ptr<void> values;         ///< [systems × nnz], a copy
  std::size_t bytes = 0, capacity = 0;  ///< of `values`
  std::size_t systems = 0;              ///< 0: no factors
  bool on_device = false;

  bool holds(const PureSystems& wanted, std::size_t wanted_bytes) const {
    return systems == wanted.systems && systems > 0 && (batch != nullptr) == wanted.is_batch &&
           bytes == wanted_bytes && on_device == wanted.A.on_device &&
           are_same_bytes(values.get(), wanted.A.values, bytes, on_device);
  }
  void keep_values(const void* from, std::size_t count, bool device) {
    if (count > capacity || device != on_device || !values) {
      values = allocate(count, device);
      capacity = count;
    }
    bytes = count;
    on_device = device;
    copy_bytes(values.get(), from, count, device);
  }
};

FactorCache::FactorCache(PureOptions options) : m_options(std::move(options)) {}
FactorCache::~FactorCache() = default;

std::size_t FactorCache::scalar_bytes() const {
  switch (m_options.scalar) {
    case ScalarType::f32:
      return 4;
    case ScalarType::c128:
      return 16;
    default:
      return 8;
  }
}

std::size_t FactorCache::value_bytes(const PureSystems& systems) const {
  return systems.systems * static_cast<std::size_t>(systems.A.nnz) * scalar_bytes();
}

/// A slot for other values: a new one, or that of the oldest values.
FactorCache::Slot& FactorCache::free_slot(const PureSystems& systems) {
  const auto same_kind = [&](const std::unique_ptr<Slot>& slot) {
    return (slot->batch != nullptr) == systems.is_batch;
  };
  const auto kept = static_cast<std::size_t>(std::count_if(m_slots.begin(), m_slots.end(), same_kind));
  if (kept >= m_options.kept) {
    const auto oldest = std::find_if(m_slots.rbegin(), m_slots.rend(), same_kind);
    std::rotate(oldest, oldest + 1, m_slots.rend());
    return *m_slots.front();
  }
  auto slot = std::make_unique<Slot>();
  if (systems.is_batch) {
    const auto other = std::find_if(m_slots.begin(), m_slots.end(), same_kind);
    slot->batch = other != m_slots.end() ? (*other)->batch->sibling()
                                         : make_batch(m_options.method, m_options.scalar, OrdinalType::int32,
                                                      {m_options.named, {}});
    if (other == m_slots.end()) slot->batch->analyze(systems.A);
  } else {
    slot->single = make_solver(m_options.method, m_options.scalar, OrdinalType::int32, {m_options.named, {}});
    slot->single->analyze(systems.A);
  }
  m_slots.insert(m_slots.begin(), std::move(slot));
  return *m_slots.front();
}

void FactorCache::factorize(Slot& slot, const PureSystems& systems) {
  slot.systems = 0;  // until it has succeeded
  ++m_factorizations;
  if (systems.is_batch) {
    slot.keep_values(systems.A.values, value_bytes(systems), systems.A.on_device);
    const auto nnz = static_cast<std::size_t>(systems.A.nnz);
    slot.batch->factorize({slot.values.get(), {nnz, systems.systems, 1}, {1, nnz, 1}, systems.A.on_device},
                          {});
  } else {
    slot.single->factorize(systems.A);
    slot.keep_values(systems.A.values, value_bytes(systems), systems.A.on_device);
  }
  slot.systems = systems.systems;
}

FactorCache::Slot& FactorCache::slot_for(const PureSystems& systems) {
  const std::size_t bytes = value_bytes(systems);
  for (std::size_t s = 0; s < m_slots.size(); ++s) {
    if (!m_slots[s]->holds(systems, bytes)) continue;
    const auto first = m_slots.begin();
    std::rotate(first, first + static_cast<std::ptrdiff_t>(s), first + static_cast<std::ptrdiff_t>(s) + 1);
    return *m_slots.front();
  }
  Slot& slot = free_slot(systems);
  factorize(slot, systems);
  return slot;
}

void FactorCache::solve_one(Slot& slot, const PureSystems& systems) {
  const auto n = static_cast<std::size_t>(systems.A.n_rows);
  const Vectors B{const_cast<void*>(systems.B), n, systems.n_rhs, systems.n_rhs, 1, systems.A.on_device};
  Vectors X = B;
  X.data = systems.X;
  Status status = slot.single->report().status;
  if (status == Status::not_solved || has_solution(status)) {
    slot.single->solve(B, X, systems.op);
    status = slot.single->report().status;
  }
  if (has_solution(status)) return;
  if (!m_options.nan_on_failure) throw SingularSystems(describe(slot.single->report()));
  set_to_nan(systems.X, n * systems.n_rhs * scalar_bytes(), systems.A.on_device);
}

void FactorCache::solve_batch(Slot& slot, const PureSystems& systems) {
  const auto n = static_cast<std::size_t>(systems.A.n_rows), r = systems.n_rhs;
  const BatchArray B{
      const_cast<void*>(systems.B), {n, r, systems.systems}, {r, 1, n * r}, systems.A.on_device};
  BatchArray X = B;
  X.data = systems.X;
  slot.batch->solve(B, X, systems.op);
  const auto& statuses = slot.batch->report().statuses;
  const std::string failures = describe_failures(statuses);
  if (failures.empty()) return;
  if (!m_options.nan_on_failure) throw SingularSystems(failures);
  const std::size_t bytes = n * r * scalar_bytes();
  for (std::size_t k = 0; k < statuses.size(); ++k)
    if (!has_solution(statuses[k]))
      set_to_nan(static_cast<char*>(systems.X) + k * bytes, bytes, systems.A.on_device);
}

void FactorCache::solve(const PureSystems& systems) {
  if (systems.systems == 0 || systems.n_rhs == 0 || systems.A.n_rows == 0) return;
  const std::lock_guard lock(m_mutex);
  Slot& slot = slot_for(systems);
  if (systems.is_batch) return solve_batch(slot, systems);
  solve_one(slot, systems);
}

std::int64_t FactorCache::factorizations() const {
  const std::lock_guard lock(m_mutex);
  return m_factorizations;
}

void FactorCache::clear() {
  const std::lock_guard lock(m_mutex);
  m_slots.clear();
}

}  // namespace lutra::Python
