// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "Lutra_MemoryBudget.hpp"

#include <algorithm>
#include <limits>
#include <utility>

namespace lutra {

namespace {
constexpr std::size_t max_blocks = 32;  // a store holds
}

MemoryPool::Block MemoryPool::take(std::string_view space, std::size_t bytes) {
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
  if (m_blocks.size() == max_blocks) m_blocks.erase(m_blocks.begin());
  m_blocks.push_back(std::move(block));
}

MemoryBudget::MemoryBudget(std::size_t limit_bytes, std::shared_ptr<MemoryPool> store)
    : m_account(std::make_shared<Account>()) {
  m_account->limit = limit_bytes;
  m_account->store = std::move(store);
}

std::size_t MemoryBudget::available_bytes() const noexcept {
  if (m_account->limit == 0) return std::numeric_limits<std::size_t>::max();
  return m_account->limit > m_account->used ? m_account->limit - m_account->used : 0;
}

void MemoryBudget::require(const std::string& label, std::size_t bytes) const {
  if (bytes <= available_bytes()) return;
  throw OutOfMemoryError("'" + label + "' needs " + std::to_string(bytes) +
                             " bytes, but of the memory limit of " + std::to_string(m_account->limit) +
                             " bytes " + std::to_string(m_account->used) + " are in use",
                         bytes);
}

void MemoryBudget::add(std::size_t bytes) noexcept {
  m_account->used += bytes;
  m_account->peak = std::max(m_account->peak, m_account->used);
}

void MemoryBudget::remove(std::size_t bytes) noexcept {
  m_account->used -= std::min(bytes, m_account->used);
}

}  // namespace lutra
