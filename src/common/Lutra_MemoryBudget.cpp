// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "Lutra_MemoryBudget.hpp"

#include <algorithm>
#include <limits>
#include <utility>

namespace lutra {

namespace {
constexpr std::size_t max_blocks = 32;  // capacity of a pool
}  // namespace

MemoryPool::Block MemoryPool::take(std::string_view space, std::size_t bytes) {
  const std::lock_guard lock(m_mutex);
  auto best = m_blocks.end();
  for (auto block = m_blocks.begin(); block != m_blocks.end(); ++block) {
    const bool fits = block->space == space && block->bytes >= bytes && block->bytes / 2 <= bytes + 4096;
    if (fits && (best == m_blocks.end() || block->bytes < best->bytes)) best = block;
  }
  if (best == m_blocks.end()) return {};
  Block taken = std::move(*best);
  m_blocks.erase(best);
  return taken;
}

void MemoryPool::give(Block block) {
  Block oldest;  // freed after unlocking: freeing may take long
  const std::lock_guard lock(m_mutex);
  if (m_blocks.size() == max_blocks) {
    oldest = std::move(m_blocks.front());
    m_blocks.erase(m_blocks.begin());
  }
  m_blocks.push_back(std::move(block));
}

MemoryBudget::MemoryBudget(std::size_t limit_bytes, std::shared_ptr<MemoryPool> pool)
    : m_account(std::make_shared<Account>()) {
  m_account->limit = limit_bytes;
  m_account->pool = std::move(pool);
}

std::size_t MemoryBudget::available_bytes() const noexcept {
  const std::size_t limit = m_account->limit, used = m_account->used;
  if (limit == 0) return std::numeric_limits<std::size_t>::max();
  return limit > used ? limit - used : 0;
}

std::size_t MemoryBudget::peak_bytes() const noexcept {
  return std::max<std::size_t>(m_account->past_peak, m_account->used);
}

void MemoryBudget::refuse(std::string_view label, std::size_t bytes, std::size_t limit,
                          std::size_t used) const {
  ++m_account->refusals;
  throw OutOfMemoryError("'" + std::string(label) + "' needs " + std::to_string(bytes) +
                             " bytes, but of the memory limit of " + std::to_string(limit) + " bytes " +
                             std::to_string(used) + " are in use",
                         bytes);
}

void MemoryBudget::require(std::string_view label, std::size_t bytes) const {
  if (bytes > available_bytes()) refuse(label, bytes, m_account->limit, m_account->used);
}

void MemoryBudget::charge(std::string_view label, std::size_t bytes) {
  m_run.poll();
  const std::size_t limit = m_account->limit;
  std::size_t used = m_account->used;
  do {
    if (limit > 0 && (used > limit || bytes > limit - used)) refuse(label, bytes, limit, used);
  } while (!m_account->used.compare_exchange_weak(used, used + bytes));
}

void MemoryBudget::release(std::size_t bytes) noexcept {
  std::size_t peak = m_account->past_peak;
  const std::size_t used = m_account->used;
  while (peak < used && !m_account->past_peak.compare_exchange_weak(peak, used)) {
  }
  cancel(bytes);
}

void MemoryBudget::cancel(std::size_t bytes) noexcept {
  m_account->used -= bytes;
}

MemoryReservation::MemoryReservation(const MemoryBudget& budget) : m_entry(std::make_shared<Entry>(budget)) {}

MemoryReservation::Entry::~Entry() {
  budget.release(bytes);
  if (budget.pool() == nullptr) return;
  for (auto& block : blocks) budget.pool()->give(std::move(block));
}

void MemoryReservation::Entry::charge(std::string_view label, std::size_t more) {
  budget.charge(label, more);
  bytes += more;
}

char* MemoryReservation::Pieces::take(std::string_view from, std::size_t bytes) noexcept {
  if (begin == nullptr || from != space || static_cast<std::size_t>(end - begin) < padded(bytes))
    return nullptr;
  char* const piece = begin;
  begin += padded(bytes);
  return piece;
}

MemoryPool::Block MemoryReservation::take_cached(std::string_view space, std::string_view label,
                                                 std::size_t bytes) {
  MemoryPool* const pool = m_entry->budget.pool();
  if (pool == nullptr) return {};
  MemoryPool::Block block = pool->take(space, bytes);
  if (block.begin == nullptr) return {};
  try {
    m_entry->charge(label, bytes);
  } catch (const OutOfMemoryError&) {
    pool->give(std::move(block));
    throw;
  }
  return block;
}

char* MemoryReservation::keep(MemoryPool::Block block) {
  m_entry->blocks.push_back(std::move(block));
  return m_entry->blocks.back().begin;
}

void MemoryReservation::fail(std::string_view label, std::size_t bytes) {
  m_entry->budget.cancel(bytes);
  m_entry->bytes -= bytes;
  Impl::rethrow_as_out_of_memory(label, bytes);
}

}  // namespace lutra
