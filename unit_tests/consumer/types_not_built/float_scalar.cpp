// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include <Lutra.hpp>

lutra::SparseLU<float> solver;
