/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
#ifndef LUTRA_MA97_H
#define LUTRA_MA97_H

/* Interface of HSL_MA97 in double precision, as far as Ipopt calls it: the order and types of the members and
 * the arguments are HSL's, whose documentation explains them. docs/ipopt.md says what Lutra does with each.
 * Arrays and structs belong to the caller. Every function except the first and the last two reports by
 * info->flag. */

#ifdef __cplusplus
extern "C" {
#endif

/* What a caller asks for. A member that is not commented on has no effect. */
struct ma97_control_d {
  int f_arrays; /* indices in arrays count from 1 instead of 0 */
  int action;   /* continue with a singular matrix */
  int nemin;
  double multiplier;
  int ordering; /* 0: by the array `order`; 1, 2, 4: minimum degree; 3: nested dissection; 5: Lutra's choice;
                 * 7, 8, 6: these three with matched rows side by side */
  int print_level; /* below 0: never print; from 0 on: errors; above 1: each factorization's report, too */
  int scaling;     /* 0: none, or the array `scale`; others: by a matching */
  double small;    /* columns with no entry above this have a zero pivot */
  double u;        /* pivot threshold */
  int unit_diagnostics; /* of reports. 6: standard output; below 0: nowhere; others: standard error */
  int unit_error;       /* of errors */
  int unit_warning;
  long factor_min;
  int solve_blas3;
  long solve_min;
  int solve_mf;
  double consist_tol;
  int ispare[5];
  double rspare[10];
};

/* What was found. */
struct ma97_info_d {
  int flag; /* a value of Flag, Lutra_HslFlags.hpp */
  int flag68, flag77;
  int matrix_dup;          /* entries given more than once */
  int matrix_rank;         /* rows less zero pivots */
  int matrix_outrange;     /* entries outside the lower triangle, which are ignored */
  int matrix_missing_diag; /* entries of the diagonal that are not given */
  int maxdepth, maxfront;
  int num_delay;   /* delayed pivots */
  long num_factor; /* entries of L */
  long num_flops;  /* operations of a factorization */
  int num_neg;     /* negative eigenvalues */
  int num_sup;     /* fronts */
  int num_two;     /* 2 x 2 pivots */
  int ordering;    /* that of the control */
  int stat;
  int maxsupernode;
  int ispare[4];
  double rspare[10];
};

void ma97_default_control_d(struct ma97_control_d* control);
void ma97_analyse_d(int check, int n, const int ptr[], const int row[], double val[], void** akeep,
                    const struct ma97_control_d* control, struct ma97_info_d* info, int order[]);
void ma97_factor_d(int matrix_type, const int ptr[], const int row[], const double val[], void** akeep,
                   void** fkeep, const struct ma97_control_d* control, struct ma97_info_d* info,
                   double scale[]);
void ma97_factor_solve_d(int matrix_type, const int ptr[], const int row[], const double val[], int nrhs,
                         double x[], int ldx, void** akeep, void** fkeep,
                         const struct ma97_control_d* control, struct ma97_info_d* info, double scale[]);
void ma97_solve_d(int job, int nrhs, double x[], int ldx, void** akeep, void** fkeep,
                  const struct ma97_control_d* control, struct ma97_info_d* info);
void ma97_finalise_d(void** akeep, void** fkeep);
void ma97_free_akeep_d(void** akeep);

#ifdef __cplusplus
}
#endif

#endif
