// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "Lutra_CliCommands.hpp"
#include "Lutra_CliExit.hpp"
#include "Lutra_CliOptions.hpp"
#include "Lutra_CliOutput.hpp"
#include "Lutra_CliText.hpp"
#include "Lutra_MatrixMarket.hpp"
#include "Lutra_MatrixProperties.hpp"
#include "Lutra_SparseLU.hpp"
#include "Lutra_StructureSvg.hpp"

namespace lutra::Cli {
namespace {

std::string header_text(const MatrixMarketHeader& header) {
  constexpr const char* fields[] = {"real", "integer", "complex", "pattern"};
  constexpr const char* symmetries[] = {"general", "symmetric", "skew-symmetric", "hermitian"};
  return std::string(fields[static_cast<int>(header.field)]) + ", " +
         symmetries[static_cast<int>(header.symmetry)];
}

std::string properties_text(const std::string& file, const MatrixMarketHeader& header,
                            const MatrixProperties& properties) {
  const auto number = [](std::int64_t value) { return std::to_string(value); };
  return text_line("matrix", file + ": " + number(properties.rows) + " × " + number(properties.cols) + ", " +
                                 number(properties.nnz) + " entries, " + header_text(header)) +
         text_line("symmetry", "pattern " + short_number(properties.pattern_symmetry) + ", values " +
                                   short_number(properties.value_symmetry)) +
         text_line(
             "rank",
             (properties.structural_rank ? "structural rank " + number(*properties.structural_rank) + ", "
                                         : "") +
                 "zero diagonals " + number(properties.zero_diagonals) + ", empty rows " +
                 number(properties.empty_rows) + ", empty columns " + number(properties.empty_columns)) +
         text_line("shape", "bandwidth " + number(properties.lower_bandwidth) + " below and " +
                                number(properties.upper_bandwidth) + " above the diagonal, longest row " +
                                number(properties.longest_row) + ", longest column " +
                                number(properties.longest_column));
}

// order[k] = index at place k → place of each index.
std::vector<std::int64_t> places(const std::vector<std::int64_t>& order) {
  std::vector<std::int64_t> place(order.size());
  for (std::size_t k = 0; k < order.size(); ++k)
    place[static_cast<std::size_t>(order[k])] = static_cast<std::int64_t>(k);
  return place;
}

template <class Scalar>
StructurePicture picture(const std::string& file, const HostMatrix<Scalar>& A,
                         const FactorStructure& structure) {
  StructurePicture picture{file, {}, structure.level_widths};
  picture.panels.push_back(bin_density<int>("A", A.n_rows, A.n_cols, A.row_map, A.entries));
  if (structure.row_order.empty()) return picture;  // structurally singular: nothing was ordered
  const auto row_places = places(structure.row_order), col_places = places(structure.col_order);
  picture.panels.push_back(
      bin_density<int>("P·A·Q", A.n_rows, A.n_cols, A.row_map, A.entries, row_places, col_places));
  picture.panels.push_back(
      bin_density<std::int64_t>("L+U", A.n_rows, A.n_cols, structure.row_map, structure.entries));
  return picture;
}

// What would be chosen, which takes an analysis; of a matrix that is not square there is none.
template <class Scalar>
void add_analysis(const HostMatrix<Scalar>& A, std::string& text, FactorStructure& structure) {
  if (A.n_rows != A.n_cols || A.n_rows == 0) {
    text += text_line("method", "none: a system needs a square matrix with rows");
    return;
  }
  SparseLU<Scalar> solver;
  solver.analyze(A);
  const Report& report = solver.report();
  text += choice_text(report.choice) + factors_text(report.factors);
  if (report.status != Status::not_solved) text += text_line("status", describe(report, 1));
  structure = solver.structure();
}

template <class Scalar>
int inform(const Arguments& arguments, const MatrixMarketHeader& header, const HostMatrix<Scalar>& A) {
  const std::string& file = arguments.files.front();
  Progress progress(true);
  progress.show("analyzing");
  std::string text = properties_text(file, header, matrix_properties(make_view(A)));
  FactorStructure structure;
  add_analysis(A, text, structure);
  if (arguments.svg) write_structure_svg(*arguments.svg, picture(file, A, structure));
  progress.clear();
  write_output(text);
  return exit_solved;
}

}  // namespace

int run_info(const Arguments& arguments) {
  if (arguments.svg) check_output_file("--svg", *arguments.svg);
  const MatrixMarketMatrix read = read_matrix_market(arguments.files.front());
  return std::visit([&](const auto& matrix) { return inform(arguments, read.header, matrix); }, read.matrix);
}

}  // namespace lutra::Cli
