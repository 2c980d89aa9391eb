# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Twenty nonlinear programs for Ipopt, written with CasADi.

PROBLEMS maps a name to a function without arguments that returns a Program. LARGE lists those with more than 5,000
variables.
"""

import math

import casadi as ca
import grids


class Program:
    """min f(x) subject to lbg <= g(x) <= ubg and lbx <= x <= ubx, from the start x0."""

    def __init__(self):
        self.f = 0
        self._x, self._lbx, self._ubx, self._x0 = [], [], [], []
        self._g, self._lbg, self._ubg = [], [], []

    def variable(self, n=1, low=-math.inf, high=math.inf, start=0.0):
        x = ca.SX.sym(f"x{len(self._x)}", n)
        self._x.append(x)
        for values, given in ((self._lbx, low), (self._ubx, high), (self._x0, start)):
            values.extend(given if isinstance(given, (list, tuple)) else [given] * n)
        return x

    def between(self, expression, low, high):
        self._g.append(expression)
        n = expression.numel()
        for values, given in ((self._lbg, low), (self._ubg, high)):
            values.extend(given if isinstance(given, (list, tuple)) else [given] * n)

    def zero(self, expression):
        self.between(expression, 0.0, 0.0)

    @property
    def size(self):
        return len(self._x0)

    def nlp(self):
        return {"x": ca.vertcat(*self._x), "f": self.f, "g": ca.vertcat(*self._g)}

    def arguments(self):
        return {"x0": self._x0, "lbx": self._lbx, "ubx": self._ubx, "lbg": self._lbg, "ubg": self._ubg}


# ---- functions of many variables


def rosenbrock(n):
    """Chained Rosenbrock function without constraints."""
    p = Program()
    x = p.variable(n, start=[-1.2, 1.0] * (n // 2))
    p.f = ca.sumsqr(1 - x[:-1]) + 100 * ca.sumsqr(x[1:] - x[:-1] ** 2)
    return p


def hock_schittkowski_71():
    p = Program()
    x = p.variable(4, 1, 5, start=[1, 5, 5, 1])
    p.f = x[0] * x[3] * (x[0] + x[1] + x[2]) + x[2]
    p.between(x[0] * x[1] * x[2] * x[3], 25, math.inf)
    p.between(ca.sumsqr(x), 40, 40)
    return p


def luksan_vlcek_1(n):
    """Chained Rosenbrock function with trigonometric and exponential constraints."""
    p = Program()
    x = p.variable(n, start=[-1.2, 1.0] * (n // 2))
    p.f = ca.sumsqr(x[:-1] - 1) + 100 * ca.sumsqr(x[:-1] ** 2 - x[1:])
    a, b, c = x[:-2], x[1:-1], x[2:]
    p.zero(3 * b**3 + 2 * c - 5 + ca.sin(b - c) * ca.sin(b + c) + 4 * b - a * ca.exp(a - b) - 3)
    return p


def broyden_tridiagonal(n):
    """Broyden's tridiagonal residuals, with products of neighbours as constraints."""
    p = Program()
    x = p.variable(n, low=-2, high=-0.6, start=-1.0)
    padded = ca.vertcat(0, x, 0)
    p.f = ca.sumsqr((3 - 2 * x) * x - padded[:-2] - padded[2:] + 1)
    p.between(x[:-1] * x[1:] + x[:-1], -0.5, 1)
    return p


def electrons(n):
    """Least Coulomb energy of n electrons on a sphere (COPS)."""
    p = Program()
    angles = [(math.acos(1 - 2 * (i + 0.5) / n), math.pi * (1 + math.sqrt(5)) * i) for i in range(n)]
    start = [[f(t, s) for t, s in angles] for f in (lambda t, s: math.sin(t) * math.cos(s),
                                                    lambda t, s: math.sin(t) * math.sin(s), lambda t, s: math.cos(t))]
    x, y, z = (p.variable(n, start=s) for s in start)
    p.f = sum(1 / ca.sqrt((x[i] - x[j]) ** 2 + (y[i] - y[j]) ** 2 + (z[i] - z[j]) ** 2)
              for i in range(n) for j in range(i))
    p.zero(x**2 + y**2 + z**2 - 1)
    return p


def hanging_chain(n):
    """Shape of a chain of given length between two points, by its potential energy (COPS)."""
    p = Program()
    h, length, a, b = 1 / n, 4.0, 1.0, 3.0
    times = [i * h for i in range(n + 1)]
    x = p.variable(n + 1, start=[4 * abs(b - a) * t * (0.5 * t - 0.25) + a for t in times])
    u = p.variable(n + 1, start=[4 * abs(b - a) * (t - 0.25) for t in times])
    arc = ca.sqrt(1 + u**2)
    p.f = h / 2 * ca.sum1(x[:-1] * arc[:-1] + x[1:] * arc[1:])
    p.zero(x[1:] - x[:-1] - h / 2 * (u[:-1] + u[1:]))
    p.between(h / 2 * ca.sum1(arc[:-1] + arc[1:]), length, length)
    p.zero(ca.vertcat(x[0] - a, x[-1] - b))
    return p


def polygon(n):
    """Largest area of a polygon of n vertices and diameter one (COPS)."""
    p = Program()
    r = p.variable(n, 0, 1, start=[4 * (i + 1) * (n - i) / (n + 1) ** 2 for i in range(n)])
    theta = p.variable(n, 0, math.pi, start=[math.pi * (i + 1) / n for i in range(n)])
    p.f = -0.5 * ca.sum1(r[1:] * r[:-1] * ca.sin(theta[1:] - theta[:-1]))
    for i in range(n):
        for j in range(i + 1, n):
            p.between(r[i] ** 2 + r[j] ** 2 - 2 * r[i] * r[j] * ca.cos(theta[j] - theta[i]), -math.inf, 1)
    p.between(theta[1:] - theta[:-1], 0, math.inf)
    p.zero(ca.vertcat(r[-1], theta[-1] - math.pi))
    return p


# ---- grids in the plane


def minimal_surface(m, obstacle):
    """Surface of least area over a square of m x m interior points, above an obstacle in the middle (COPS)."""
    p = Program()
    h = 1 / (m + 1)
    low = []
    for j in range(1, m + 1):
        for i in range(1, m + 1):
            middle = abs(i * h - 0.5) <= 0.25 and abs(j * h - 0.5) <= 0.25
            low.append(obstacle if middle else -math.inf)
    v = ca.reshape(p.variable(m * m, low, start=[max(0.0, value) for value in low]), m, m)
    edge = [1 - (2 * i * h - 1) ** 2 for i in range(m + 2)]
    rows = [[ca.SX(edge[i]) if j in (0, m + 1) else ca.SX(0) if i in (0, m + 1) else v[i - 1, j - 1]
             for j in range(m + 2)] for i in range(m + 2)]
    for i in range(m + 1):
        for j in range(m + 1):
            across, along = (rows[i + 1][j] - rows[i][j]) / h, (rows[i][j + 1] - rows[i][j]) / h
            p.f += 0.5 * h * h * ca.sqrt(1 + across**2 + along**2)
            across, along = (rows[i + 1][j + 1] - rows[i][j + 1]) / h, (rows[i + 1][j + 1] - rows[i + 1][j]) / h
            p.f += 0.5 * h * h * ca.sqrt(1 + across**2 + along**2)
    return p


def elliptic_control(m):
    """Control of -Δy + y³ = u on a square of m x m interior points, with bounds on y and u (after Mittelmann)."""
    p = Program()
    h, alpha = 1 / (m + 1), 1e-3
    y = ca.reshape(p.variable(m * m, high=0.371), m, m)
    u = ca.reshape(p.variable(m * m, -8, 9), m, m)
    around = ca.horzcat(ca.SX.zeros(m + 2), ca.vertcat(ca.SX.zeros(1, m), y, ca.SX.zeros(1, m)), ca.SX.zeros(m + 2))
    laplace = around[:-2, 1:-1] + around[2:, 1:-1] + around[1:-1, :-2] + around[1:-1, 2:] - 4 * y
    p.zero(ca.vec(-laplace + h * h * (y**3 - u)))
    for i in range(m):
        for j in range(m):
            target = 1 + 2 * ((i + 1) * h * ((i + 1) * h - 1) + (j + 1) * h * ((j + 1) * h - 1))
            p.f += h * h / 2 * ((y[i, j] - target) ** 2 + alpha * u[i, j] ** 2)
    return p


# ---- optimal control

RADAU = ca.collocation_points(3, "radau")


def collocate(p, rate, n, step, state, control, cost=None, degree_points=RADAU):
    """Adds n intervals of collocation on three Radau points for x' = rate(x, u), with a control per interval.

    state and control are (lows, highs, starts); step is a number or a variable. Returns the states at the ends of the
    intervals, the first one included. cost(x, u) is integrated into p.f.
    """
    C, D, B = (ca.DM(m) for m in ca.collocation_coeff(degree_points))
    size = len(state[0])
    ends, x = [], p.variable(size, *(list(values) for values in state))
    ends.append(x)
    for _ in range(n):
        u = p.variable(len(control[0]), *(list(values) for values in control))
        inner = [p.variable(size, *(list(values) for values in state)) for _ in degree_points]
        Z = ca.horzcat(x, *inner)
        slopes = Z @ C
        for k, z in enumerate(inner):
            p.zero(slopes[:, k] - step * rate(z, u))
            if cost is not None:
                p.f += step * B[k] * cost(z, u)
        end = p.variable(size, *(list(values) for values in state))
        p.zero(Z @ D - end)
        x = end
        ends.append(x)
    return ends


def fix(p, x, values):
    p.zero(x - ca.DM(values))


def van_der_pol(n):
    """Damping of a van der Pol oscillator over ten seconds by a bounded control."""
    p = Program()
    inf = math.inf
    ends = collocate(p, lambda x, u: ca.vertcat((1 - x[1] ** 2) * x[0] - x[1] + u, x[0]), n, 10 / n,
                     ([-inf, -0.25], [inf, inf], [0, 0]), ([-1], [1], [0]), lambda x, u: x[0]**2 + x[1]**2 + u**2)
    fix(p, ends[0], [0, 1])
    return p


def rocket(n):
    """Goddard's rocket: greatest height at a free final time (COPS)."""
    p = Program()
    final = p.variable(1, 1e-3, start=0.2)
    c, last_mass = 0.5, 0.6

    def rate(x, u):
        h, v, m = x[0], x[1], x[2]
        drag = 310 * v**2 * ca.exp(-500 * (h - 1))
        return ca.vertcat(v, (u - drag) / m - 1 / h**2, -u / c)

    ends = collocate(p, rate, n, final / n, ([1, 0, last_mass], [math.inf, math.inf, 1], [1, 0.1, 0.8]),
                     ([0], [3.5], [1.75]))
    fix(p, ends[0], [1, 0, 1])
    p.zero(ends[-1][2] - last_mass)
    p.f = -ends[-1][0]
    return p


def race_car(n):
    """Fastest lap of a car with a speed limit that depends on the position, by multiple shooting."""
    p = Program()
    final = p.variable(1, 0, start=1.0)
    x = p.variable(2, start=[0, 1])
    fix(p, x, [0, 0])

    def rate(x, u):
        return ca.vertcat(x[1], u - x[1])

    for k in range(n):
        u = p.variable(1, 0, 1, start=0.5)
        h = final / n
        k1 = rate(x, u)
        k2 = rate(x + h / 2 * k1, u)
        k3 = rate(x + h / 2 * k2, u)
        k4 = rate(x + h * k3, u)
        end = p.variable(2, start=[(k + 1) / n, 1])
        p.zero(x + h / 6 * (k1 + 2 * k2 + 2 * k3 + k4) - end)
        p.between(end[1] - (1 - ca.sin(2 * math.pi * end[0]) / 2), -math.inf, 0)
        x = end
    p.zero(x[0] - 1)
    p.f = final
    return p


def cart_pole(n):
    """Swing-up of a pole on a cart within two seconds, with the least force."""
    p = Program()
    m1, m2, length, g = 1.0, 0.3, 0.5, 9.81

    def rate(x, u):
        sine, cosine, spin = ca.sin(x[1]), ca.cos(x[1]), x[3]
        below = m1 + m2 * sine**2
        return ca.vertcat(x[2], spin, (length * m2 * sine * spin**2 + u + m2 * g * cosine * sine) / below,
                          -(length * m2 * cosine * sine * spin**2 + u * cosine + (m1 + m2) * g * sine)
                          / (length * below))

    inf = math.inf
    ends = collocate(p, rate, n, 2 / n, ([-2, -inf, -inf, -inf], [2, inf, inf, inf], [0.5, 1.5, 0, 0]),
                     ([-20], [20], [0]), lambda x, u: u**2)
    fix(p, ends[0], [0, 0, 0, 0])
    fix(p, ends[-1], [1, math.pi, 0, 0])
    return p


def robot_arm(n):
    """Fastest motion of an arm with length, azimuth and elevation, torques bounded (COPS)."""
    p = Program()
    final = p.variable(1, 0.1, start=9.0)
    length = 5.0

    def rate(x, u):
        rho, elevation = x[0], x[2]
        inertia = ((length - rho) ** 3 + rho**3) / 3
        return ca.vertcat(x[3], x[4], x[5], u[0] / length, u[1] / (inertia * ca.sin(elevation) ** 2), u[2] / inertia)

    inf = math.inf
    ends = collocate(p, rate, n, final / n, ([0, -math.pi, 0.1, -inf, -inf, -inf],
                                             [length, math.pi, math.pi, inf, inf, inf],
                                             [4.5, 1.0, math.pi / 4, 0, 0, 0]), ([-1] * 3, [1] * 3, [0] * 3))
    fix(p, ends[0], [4.5, 0, math.pi / 4, 0, 0, 0])
    fix(p, ends[-1], [4.5, 2 * math.pi / 3, math.pi / 4, 0, 0, 0])
    p.f = final
    return p


def catalyst_mixing(n):
    """Mixing of two catalysts along a reactor for the greatest yield (COPS)."""
    p = Program()

    def rate(x, u):
        return ca.vertcat(u * (10 * x[1] - x[0]), u * (x[0] - 10 * x[1]) - (1 - u) * x[1])

    inf = math.inf
    ends = collocate(p, rate, n, 1 / n, ([-inf, -inf], [inf, inf], [1, 0]), ([0], [1], [0]))
    fix(p, ends[0], [1, 0])
    p.f = ends[-1][0] + ends[-1][1] - 1
    return p


# ---- power flow


def admittances(grid, branch):
    """Real and imaginary parts of the four admittances of a branch: from-from, from-to, to-from, to-to."""
    _, _, r, x, b, tap, _ = branch
    y = 1 / complex(r, x)
    return (y + 0.5j * b) / tap**2, -y / tap, -y / tap, y + 0.5j * b


def add_power_flow(p, grid, load):
    """Adds voltages, generators and balances at a load given as a factor. Returns the generators' P per unit."""
    buses, generators = grid["buses"], grid["generators"]
    n = len(buses)
    angle = p.variable(n)
    voltage = p.variable(n, [b[3] for b in buses], [b[4] for b in buses], 1.0)
    bounds = [[g[k] / 100 for g in generators] for k in (1, 2, 3, 4)]
    power = p.variable(len(generators), bounds[0], bounds[1], [(a + b) / 2 for a, b in zip(*bounds[:2])])
    reactive = p.variable(len(generators), bounds[2], bounds[3], [(a + b) / 2 for a, b in zip(*bounds[2:])])
    P = [-load * b[0] / 100 for b in buses]
    Q = [-load * b[1] / 100 + b[2] / 100 * voltage[i] ** 2 for i, b in enumerate(buses)]
    for k, generator in enumerate(generators):
        P[generator[0]] += power[k]
        Q[generator[0]] += reactive[k]
    for branch in grid["branches"]:
        y_ff, y_ft, y_tf, y_tt = admittances(grid, branch)
        for i, j, own, other in ((branch[0], branch[1], y_ff, y_ft), (branch[1], branch[0], y_tt, y_tf)):
            cosine, sine = ca.cos(angle[i] - angle[j]), ca.sin(angle[i] - angle[j])
            both = voltage[i] * voltage[j]
            flow = own.real * voltage[i] ** 2 + both * (other.real * cosine + other.imag * sine)
            across = -own.imag * voltage[i] ** 2 + both * (other.real * sine - other.imag * cosine)
            P[i] -= flow
            Q[i] -= across
            if branch[6] > 0:
                p.between(flow**2 + across**2, -math.inf, (branch[6] / 100) ** 2)
    p.zero(ca.vertcat(*P, *Q))
    p.zero(angle[0])
    p.f += sum(g[5] * 100 * power[k] + g[6] * (100 * power[k]) ** 2 for k, g in enumerate(generators))
    return power


def optimal_power_flow(grid, hours=1, ramp=0.2):
    """Least cost of a grid over some hours, whose generators change by at most `ramp` of their range in an hour."""
    p = Program()
    before = None
    for hour in range(hours):
        load = 1.0 if hours == 1 else 0.85 + 0.15 * math.sin(2 * math.pi * hour / 24)
        power = add_power_flow(p, grid, load)
        if before is not None:
            most = [ramp * (g[2] - g[1]) / 100 for g in grid["generators"]]
            p.between(power - before, [-value for value in most], most)
        before = power
    return p


PROBLEMS = {
    "rosenbrock-100": lambda: rosenbrock(100),
    "hs071": hock_schittkowski_71,
    "luksan-vlcek-1000": lambda: luksan_vlcek_1(1000),
    "broyden-1000": lambda: broyden_tridiagonal(1000),
    "electrons-20": lambda: electrons(20),
    "chain-400": lambda: hanging_chain(400),
    "polygon-25": lambda: polygon(25),
    "surface-30": lambda: minimal_surface(30, 1.0),
    "elliptic-30": lambda: elliptic_control(30),
    "van-der-pol-100": lambda: van_der_pol(100),
    "cart-pole-100": lambda: cart_pole(100),
    "robot-arm-50": lambda: robot_arm(50),
    "catalyst-200": lambda: catalyst_mixing(200),
    "opf-14": lambda: optimal_power_flow(grids.IEEE14),
    "opf-30": lambda: optimal_power_flow(grids.IEEE30),
    "van-der-pol-1000": lambda: van_der_pol(1000),
    "rocket-600": lambda: rocket(600),
    "race-car-2000": lambda: race_car(2000),
    "elliptic-80": lambda: elliptic_control(80),
    "opf-14-168h": lambda: optimal_power_flow(grids.IEEE14, 168),
}
LARGE = ["van-der-pol-1000", "rocket-600", "race-car-2000", "elliptic-80", "opf-14-168h"]
