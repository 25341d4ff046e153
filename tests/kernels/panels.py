"""TileLang's block orders once more, for comparison: one CTA at a time, line by line as the CUDA template has them.

The template is ``tl_templates/cuda/threadblock_swizzle.h``; its arithmetic is that of unsigned integers, and no value
here is negative or needs more than 32 bits.
"""

from __future__ import annotations

Block = tuple[int, int, int]


def ceil_div(a: int, b: int) -> int:
    return (a + b - 1) // b


def row(panel_width: int, cluster_dim_x: int, block: Block, grid: Block) -> Block:
    """``rasterization2DRowWithCluster``, and with clusters of one CTA ``rasterization2DRow``."""
    num_cluster_x = grid[0] // cluster_dim_x
    intra_cluster_x = block[0] % cluster_dim_x
    cluster_x = block[0] // cluster_dim_x
    cluster_idx = cluster_x + block[1] * num_cluster_x
    cluster_grid_size = num_cluster_x * grid[1]
    panel_size = panel_width * num_cluster_x
    panel_offset = cluster_idx % panel_size
    panel_idx = cluster_idx // panel_size
    total_panel = ceil_div(cluster_grid_size, panel_size)
    last = (cluster_grid_size - panel_idx * panel_size) // num_cluster_x
    stride = panel_width if panel_idx + 1 < total_panel else last
    swizzled_cluster_x = num_cluster_x - 1 - panel_offset // stride if panel_idx & 1 else panel_offset // stride
    swizzled_cluster_y = panel_offset % stride + panel_idx * panel_width
    col_idx = swizzled_cluster_x * cluster_dim_x + intra_cluster_x
    return col_idx, swizzled_cluster_y, block[2]


def column(panel_width: int, cluster_dim_x: int, block: Block, grid: Block) -> Block:
    """``rasterization2DColumnWithCluster``, and with clusters of one CTA ``rasterization2DColumn``."""
    num_cluster_x = grid[0] // cluster_dim_x
    intra_cluster_x = block[0] % cluster_dim_x
    cluster_x = block[0] // cluster_dim_x
    cluster_idx = cluster_x + block[1] * num_cluster_x
    cluster_grid_size = num_cluster_x * grid[1]
    panel_size = panel_width * grid[1]
    panel_offset = cluster_idx % panel_size
    panel_idx = cluster_idx // panel_size
    total_panel = ceil_div(cluster_grid_size, panel_size)
    last = (cluster_grid_size - panel_idx * panel_size) // grid[1]
    stride = panel_width if panel_idx + 1 < total_panel else last
    swizzled_cluster_y = grid[1] - 1 - panel_offset // stride if panel_idx & 1 else panel_offset // stride
    swizzled_cluster_x = panel_offset % stride + panel_idx * panel_width
    col_idx = swizzled_cluster_x * cluster_dim_x + intra_cluster_x
    return col_idx, swizzled_cluster_y, block[2]
