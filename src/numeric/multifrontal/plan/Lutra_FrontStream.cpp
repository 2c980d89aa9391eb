// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "Lutra_FrontStream.hpp"

#include <algorithm>

#include "Lutra_At.hpp"

namespace lutra {
namespace {

using Impl::at;

Offset block_of(const Front& front) {
  return static_cast<Offset>(front.cb_rows) * front.cb_rows;
}

/// Adds a front to a tree whose contribution rows are only counted.
void add_front(AssemblyTree& tree, int pivots, int cb_rows, Ordinal parent) {
  tree.pivot_begin.push_back(tree.pivot_begin.back() + static_cast<Ordinal>(pivots));
  tree.row_begin.push_back(tree.row_begin.back() + cb_rows);
  tree.parent.push_back(parent);
}

}  // namespace

FrontPartSizes::FrontPartSizes(const AssemblyTree& tree, const std::vector<Offset>& entries,
                               Offset inverse_entries)
    : m_panels(1, 0), m_others(1, 0) {
  FrontLayout layout = lay_out_fronts(tree);
  m_fronts = std::move(layout.fronts);
  m_children = std::move(layout.children);
  for (std::size_t f = 0; f < m_fronts.size(); ++f) {
    const Front& front = m_fronts[f];
    m_panels.push_back(m_panels.back() + static_cast<Offset>(front.pivots) * (front.size() + front.cb_rows));
    m_others.push_back(m_others.back() + entries[f] + inverse_entries * front.pivots);
  }
}

Offset FrontPartSizes::of(const FrontRange& range) const {
  AssemblyTree part;
  part.pivot_begin.push_back(0);
  part.row_begin.push_back(0);
  std::vector<Ordinal> foreign;  // children in other parts, which become leaves
  for (Ordinal f = range.begin; f < range.end; ++f) {
    const Front& front = at(m_fronts, f);
    for (Offset c = front.children; c < front.children_end; ++c)
      if (at(m_children, c) < range.begin) foreign.push_back(at(m_children, c));
  }
  std::ranges::sort(foreign);
  const Ordinal shift = static_cast<Ordinal>(foreign.size()) - range.begin;
  const auto add = [&](const Front& front, int pivots) {
    const bool inside = front.parent >= 0 && front.parent < range.end;
    add_front(part, pivots, front.cb_rows, inside ? front.parent + shift : -1);
  };
  for (const Ordinal f : foreign) add(at(m_fronts, f), 0);
  for (Ordinal f = range.begin; f < range.end; ++f) add(at(m_fronts, f), at(m_fronts, f).pivots);
  part.n = part.pivot_begin.back();
  constexpr Offset alignment = 64;  // between the arrays of a part, and between parts
  return at(m_panels, range.end) - at(m_panels, range.begin) + at(m_others, range.end) -
         at(m_others, range.begin) + lay_out_fronts(part).contributions + alignment;
}

Offset FrontPartSizes::of_largest_front() const {
  Offset most = 0;
  for (Ordinal f = 0; f < count(); ++f) most = std::max(most, of({f, f + 1}));
  return most;
}

std::vector<FrontRange> cut_tree(const FrontPartSizes& sizes, Offset most) {
  std::vector<FrontRange> parts;
  for (Ordinal begin = 0; begin < sizes.count(); begin = parts.back().end) {
    const auto fits = [&](Ordinal end) { return sizes.of({begin, end}) <= most; };
    Ordinal end = begin + 1, step = 1;  // [begin, end) fits, or is one front
    for (; end + step <= sizes.count() && fits(end + step); step *= 2) end += step;
    for (; step > 0; step /= 2)
      if (end + step <= sizes.count() && fits(end + step)) end += step;
    parts.push_back({begin, end});
  }
  return parts;
}

PassedBlocks place_passed_blocks(const AssemblyTree& tree, const std::vector<FrontRange>& parts,
                                 Offset capacity) {
  const FrontLayout layout = lay_out_fronts(tree);
  std::vector<int> part_of(layout.fronts.size());
  for (std::size_t p = 0; p < parts.size(); ++p)
    std::fill(part_of.begin() + parts[p].begin, part_of.begin() + parts[p].end, static_cast<int>(p));
  PassedBlocks passed;
  for (std::size_t f = 0; f < layout.fronts.size(); ++f) {
    const Front& front = layout.fronts[f];
    if (front.parent < 0 || at(part_of, front.parent) == part_of[f] || block_of(front) == 0) continue;
    passed.blocks.push_back({static_cast<Ordinal>(f), part_of[f], at(part_of, front.parent),
                             static_cast<Ordinal>(front.cb_rows)});
  }
  // Calls add(block, below) for each block when its part adds it, `below` the blocks under it.
  const auto simulate = [&](const auto& add) {
    std::vector<std::size_t> stack;
    std::size_t next = 0;
    for (int p = 0; p < static_cast<int>(parts.size()); ++p) {
      while (!stack.empty() && passed.blocks[stack.back()].to == p) stack.pop_back();
      for (; next < passed.blocks.size() && passed.blocks[next].from == p; ++next) {
        add(passed.blocks[next], stack);
        stack.push_back(next);
      }
    }
  };
  simulate([&](PassedBlock& block, const std::vector<std::size_t>& below) {
    Offset height = block.entries();
    for (const std::size_t b : below) height += passed.blocks[b].on_host ? 0 : passed.blocks[b].entries();
    for (std::size_t k = 0; k < below.size() && height > capacity; ++k) {
      PassedBlock& lower = passed.blocks[below[k]];
      height -= lower.on_host ? 0 : lower.entries();
      lower.on_host = true;
    }
    block.on_host = height > capacity;
  });
  simulate([&](PassedBlock& block, const std::vector<std::size_t>& below) {
    if (!below.empty()) {
      const PassedBlock& last = passed.blocks[below.back()];
      block.first_row = last.first_row + last.rows;
    }
    for (const std::size_t b : below)
      if (passed.blocks[b].on_host == block.on_host)
        block.place = passed.blocks[b].place + passed.blocks[b].entries();
    Offset& height = block.on_host ? passed.host : passed.device;
    height = std::max(height, block.place + block.entries());
    passed.rows = std::max(passed.rows, block.first_row + static_cast<Offset>(block.rows));
    passed.on_host += block.on_host ? block.entries() : 0;
  });
  return passed;
}

Offset place_in_ring(std::vector<PartPlace>& parts, Offset capacity) {
  Offset next = 0, used = 0;
  for (std::size_t p = 0; p < parts.size(); ++p) {
    PartPlace& part = parts[p];
    part.begin = next + part.all <= capacity ? next : 0;
    part.after = part.after_behind = -1;
    for (std::size_t q = 0; q < p; ++q) {
      if (part.overwrites(parts[q])) part.after = static_cast<int>(q);
      if (part.overwrites_behind(parts[q])) part.after_behind = static_cast<int>(q);
    }
    next = part.kept_end();
    used = std::max(used, part.end());
  }
  return used;
}

}  // namespace lutra
