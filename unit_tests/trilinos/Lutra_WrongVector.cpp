// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Must not compile.
#include "Lutra_Amesos2Solver.hpp"

template class lutra::Amesos2Solver<Tpetra::CrsMatrix<double>, Tpetra::MultiVector<long long>>;
