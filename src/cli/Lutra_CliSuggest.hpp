// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#ifndef LUTRA_CLISUGGEST_HPP
#define LUTRA_CLISUGGEST_HPP

#include <string>
#include <vector>

namespace lutra::Cli {

/// " (did you mean NAME?)" with the name that takes the fewest insertions, deletions, replacements and
/// exchanges of neighbours to become `word`; empty where every one takes more than a third of its letters.
std::string did_you_mean(const std::string& word, const std::vector<std::string>& names);

}  // namespace lutra::Cli

#endif
