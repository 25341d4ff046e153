"""The operations of expressions and what computes them, as text of the generated code.

In: nothing. Out: tables by TIR's names without their namespace.
"""

from __future__ import annotations

INFIX = {
    "Add": "+", "Sub": "-", "Mul": "*", "EQ": "==", "NE": "!=", "LT": "<", "LE": "<=", "GT": ">", "GE": ">=",
    "FloorDiv": "//", "FloorMod": "%",
}  # fmt: skip
BITS = {"bitwise_and": "&", "bitwise_or": "|", "bitwise_xor": "^", "shift_left": "<<", "shift_right": ">>"}
SPECIAL = {
    "exp": "np.exp", "exp2": "np.exp2", "exp10": "(lambda x: np.power(10, x))", "log": "np.log", "log2": "np.log2",
    "log10": "np.log10", "log1p": "np.log1p", "sqrt": "np.sqrt", "rsqrt": "rsqrt", "sin": "np.sin", "cos": "np.cos",
    "tan": "np.tan", "tanh": "np.tanh", "sinh": "np.sinh", "cosh": "np.cosh", "asin": "np.arcsin",
    "acos": "np.arccos", "atan": "np.arctan", "asinh": "np.arcsinh", "acosh": "np.arccosh", "atanh": "np.arctanh",
    "atan2": "np.arctan2", "pow": "np.power", "sigmoid": "sigmoid", "erf": "erf", "hypot": "np.hypot",
    "__exp": "np.exp", "__exp10": "(lambda x: np.power(10, x))", "__log": "np.log", "__log2": "np.log2",
    "__log10": "np.log10", "__sin": "np.sin", "__cos": "np.cos", "__tan": "np.tan", "__pow": "np.power",
    "ieee_frsqrt": "rsqrt", "ieee_fsqrt": "np.sqrt", "ieee_frcp": "np.reciprocal", "fast_rcp": "np.reciprocal",
}  # fmt: skip
SIMPLE = {
    "fabs": "np.abs", "abs": "np.abs", "floor": "np.floor", "ceil": "np.ceil", "trunc": "np.trunc", "round": "np.round",
    "nearbyint": "np.rint", "fmod": "np.fmod", "isnan": "np.isnan", "isinf": "np.isinf", "isfinite": "np.isfinite",
    "copysign": "np.copysign", "nextafter": "np.nextafter", "ldexp": "np.ldexp", "fmul": "np.multiply",
    "max_nan": "np.maximum", "min_nan": "np.minimum", "ieee_add": "np.add", "ieee_sub": "np.subtract",
    "ieee_mul": "np.multiply", "ieee_fdiv": "np.divide",
    "round_ties_away_from_zero": "(lambda x: np.copysign(np.floor(np.abs(x) + 0.5), x))",
}  # fmt: skip
SHUFFLES = {
    "shfl_xor_sync": "xor", "shfl_down_sync": "down", "shfl_up_sync": "up", "shfl_sync": "idx",
    "tvm_warp_shuffle": "idx", "tvm_warp_shuffle_up": "up", "tvm_warp_shuffle_down": "down",
}  # fmt: skip
BY_WARP = {
    "any_sync": "any", "all_sync": "all", "ballot_sync": "ballot", "ballot": "ballot", "warp_reduce_sum": "sum",
    "warp_reduce_max": "max", "warp_reduce_min": "min", "warp_reduce_bitand": "bitand", "warp_reduce_bitor": "bitor",
    "match_any_sync": "match", "match_all_sync": "match_all",
}  # fmt: skip
BY_BLOCK = {"syncthreads_count": "np.count_nonzero", "syncthreads_and": "np.all", "syncthreads_or": "np.any"}
INTEGER = {"popcount": "popcount", "clz": "leading_zeros", "__ffs": "first_set", "__fns": "nth_set"}
LOAD, FLOOR_DIVISION, FLOOR_REMAINDER = "__tlt_load", "__tlt_floordiv", "__tlt_floormod"
"""Functions of the device helper that payloads call."""
PRINTS = "debug_print"
"""Beginning of the functions that ``T.print`` calls."""
OTHER_TRACERS = ("TL_IKET_EVENT",)
"""Beginnings of functions with which other tools mark a kernel, which change nothing in it."""
HARDWARE_BLOCK = {"__tlt_block_x": 0, "__tlt_block_y": 1, "__tlt_block_z": 2}
"""Functions of the device helper that give the hardware's block index, and the axes."""
IDENTITY = ("likely", "tvm_static_handle", "__ldg")
