// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "Lutra_SplitFronts.hpp"

#include <algorithm>
#include <utility>
#include <vector>

#include "Lutra_At.hpp"

namespace lutra {
namespace {

using Impl::at;

/// Flops of eliminating k pivots of a dense front of order m.
double flops_of(double m, double k) {
  const auto up_to = [](double r) { return r * (r + 1) / 2 + r * (r + 1) * (2 * r + 1) / 3; };
  return up_to(m - 1) - up_to(m - k - 1);
}

/// Fronts as nodes that may be split, in the numbering of the tree's pivots.
class FrontSplitter {
 public:
  FrontSplitter(const AssemblyTree& tree, double share) : m_tree(tree) {
    const auto count = static_cast<std::size_t>(tree.count());
    std::vector<double> work(count, 0);
    for (std::size_t f = 0; f < count; ++f) {
      const Node node = node_of(f);
      m_nodes.push_back(node);
      work[f] += flops_of(order_of(node), node.end - node.begin);
      if (node.parent < 0)
        m_all += work[f];
      else
        at(work, node.parent) += work[f];
    }
    m_least = share * m_all;
    m_subtree = std::move(work);
  }

  /// @returns the number of splits
  int run() {
    const std::vector<std::vector<int>> children = children_of(m_nodes);
    int splits = 0;
    for (std::size_t f = 0; f < children.size(); ++f)
      if (m_subtree[f] >= 2 * m_least) splits += split(static_cast<int>(f), children[f]);
    return splits;
  }

  /// The tree of all nodes, renumbered in postorder.
  AssemblyTree result() const {
    const std::vector<int> order = postorder();
    std::vector<int> number(m_nodes.size());
    for (std::size_t k = 0; k < order.size(); ++k) at(number, order[k]) = static_cast<int>(k);
    AssemblyTree tree;
    tree.n = m_tree.n;
    tree.zeros = m_tree.zeros;
    tree.flops = m_tree.flops;
    tree.pivot_begin.push_back(0);
    tree.row_begin.push_back(0);
    std::vector<Ordinal> position(m_tree.order.size());
    for (const int v : order) {
      const Node& node = at(m_nodes, v);
      for (Ordinal k = node.begin; k < node.end; ++k) {
        at(position, k) = static_cast<Ordinal>(tree.order.size());
        tree.order.push_back(at(m_tree.order, k));
      }
      tree.pivot_begin.push_back(static_cast<Ordinal>(tree.order.size()));
      tree.parent.push_back(node.parent < 0 ? -1 : at(number, node.parent));
      for (Ordinal k = node.end; k < node.front_end; ++k) tree.rows.push_back(k);
      tree.rows.insert(tree.rows.end(), m_tree.rows.begin() + at(m_tree.row_begin, node.front),
                       m_tree.rows.begin() + at(m_tree.row_begin, node.front + 1));
      tree.row_begin.push_back(static_cast<std::int64_t>(tree.rows.size()));
    }
    for (Ordinal& row : tree.rows) row = at(position, row);  // ascending, since ancestors keep their order
    return tree;
  }

 private:
  /// Some of the pivots of a front.
  struct Node {
    Ordinal begin = 0, end = 0;  ///< pivots
    Ordinal front_end = 0;       ///< of the front; the pivots from `end` on are contribution rows
    int front = 0;
    int parent = -1;  ///< node
  };

  Node node_of(std::size_t f) const {
    return {m_tree.pivot_begin[f], m_tree.pivot_begin[f + 1], m_tree.pivot_begin[f + 1], static_cast<int>(f),
            m_tree.parent[f]};
  }
  double order_of(const Node& node) const {
    return static_cast<double>(node.front_end - node.begin + at(m_tree.row_begin, node.front + 1) -
                               at(m_tree.row_begin, node.front));
  }
  Ordinal first_row(int child) const { return at(m_tree.rows, at(m_tree.row_begin, child)); }

  static std::vector<std::vector<int>> children_of(const std::vector<Node>& nodes) {
    std::vector<std::vector<int>> children(nodes.size());
    for (std::size_t v = 0; v < nodes.size(); ++v)
      if (nodes[v].parent >= 0) at(children, nodes[v].parent).push_back(static_cast<int>(v));
    return children;
  }

  /// Splits a front wherever both sides have enough work, from the last pivots down.
  /// @returns the number of splits
  int split(int f, std::vector<int> children) {
    std::stable_sort(children.begin(), children.end(),
                     [&](int a, int b) { return first_row(a) > first_row(b); });
    double below = at(m_subtree, f), above = 0;
    int splits = 0, lowest = f;  // the part with the first pivots
    for (std::size_t c = 0; c < children.size(); ++c) {
      above += at(m_subtree, children[c]);
      const Ordinal cut = first_row(children[c]);
      if (c + 1 < children.size() && first_row(children[c + 1]) == cut) continue;
      const Node whole = at(m_nodes, lowest);
      if (cut <= whole.begin) break;
      const double of_upper =
          flops_of(order_of(whole) - (cut - whole.begin), whole.end - cut);  // its pivots above the cut
      if (above < m_least || below - above - of_upper < m_least) continue;
      below -= above + of_upper;
      Node lower = whole;
      lower.end = cut;
      lower.parent = lowest;
      at(m_nodes, lowest).begin = cut;
      const int added = static_cast<int>(m_nodes.size());
      m_nodes.push_back(lower);
      for (std::size_t d = c + 1; d < children.size(); ++d) at(m_nodes, children[d]).parent = added;
      lowest = added;
      above = 0;
      ++splits;
    }
    return splits;
  }

  /// Children in the order of their pivots.
  std::vector<int> postorder() const {
    std::vector<std::vector<int>> children = children_of(m_nodes);
    std::vector<int> order, stack;
    for (auto& list : children)
      std::sort(list.begin(), list.end(),
                [&](int a, int b) { return at(m_nodes, a).begin < at(m_nodes, b).begin; });
    for (std::size_t v = 0; v < m_nodes.size(); ++v)
      if (m_nodes[v].parent < 0) stack.push_back(static_cast<int>(v));
    std::sort(stack.begin(), stack.end(),
              [&](int a, int b) { return at(m_nodes, a).begin > at(m_nodes, b).begin; });
    std::vector<std::size_t> next(m_nodes.size(), 0);
    while (!stack.empty()) {
      const int v = stack.back();
      if (at(next, v) < at(children, v).size()) {
        stack.push_back(at(at(children, v), at(next, v)++));
        continue;
      }
      order.push_back(v);
      stack.pop_back();
    }
    return order;
  }

  const AssemblyTree& m_tree;
  std::vector<Node> m_nodes;      ///< those of fronts first
  std::vector<double> m_subtree;  ///< [fronts] flops of each subtree
  double m_all = 0, m_least = 0;
};

}  // namespace

int split_fronts(AssemblyTree& tree, double share) {
  FrontSplitter splitter(tree, share);
  const int splits = splitter.run();
  if (splits > 0) tree = splitter.result();
  return splits;
}

}  // namespace lutra
