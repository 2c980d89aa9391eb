// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#ifndef LUTRA_CLISUGGEST_HPP
#define LUTRA_CLISUGGEST_HPP

#include <string>
#include <vector>

namespace lutra::Cli {

/// " (did you mean NAME?)" with the name closest to `word` in insertions, deletions, replacements and
/// transpositions of neighbours. Empty if every distance exceeds a third of the name's letters.
std::string did_you_mean(const std::string& word, const std::vector<std::string>& names);

}  // namespace lutra::Cli

#endif
