"""Where TileLang is entered at places that are not public: all of them, with what is relied on.

Other modules use TileLang's public interface (``tilelang.jit``, ``tilelang.language``, ``tilelang.JITKernel``) and
TVM's. ``tests/core/test_upstream.py`` checks each sentence here; ``CONTRIBUTING.md`` says what to do for a new release.

Building (``compile.schedule``, ``runtime.jit``, ``compile.cache``):

- ``JITKernel(..., backend_context=BackendContext)`` compiles with the pipeline that the context's module has;
- ``create_backend_context(target, target_host, execution_backend)`` resolves all three as ``tilelang.compile`` does;
- ``cuda_pipeline``: two functions that call ``LayoutInference`` first after software pipelining, and ``MakePackedAPI``
  first after planning, through the module's global names; ``PassPipeline`` holds such functions;
- ``lower_with_context`` returns host and device modules, ``extrac_params`` the kernel's parameters;
- ``TVMFFIKernelCache()._generate_key`` tells apart what TileLang's own cache tells apart, ``CachedTextSource`` holds a
  source for ``JITKernel.from_database``;
- ``normalize_pass_configs``, ``auto_detect_target``, ``PreLowerSemanticCheck`` do what TileLang does with settings,
  without a target, and before its first pass.

Kernels while they are built (``compile.markers``, ``compile.ir``):

- ``Builder.current()`` is the builder of the kernel that is being written, if any; its module logs as CRITICAL, under
  its own name, what TileLang made of a kernel whose author's code failed, and nothing else;
- ``KernelLaunchFrame.Current()`` is the launch that a marker stands in, if any;
- ``get_stmt_span``, ``span_to_location``, ``stamp_stmt_spans``: the author's line of a statement.

Kernels once they are built (``runtime.facade``, ``runtime.intercept``, ``runtime.virtual_profiler``):

- every compilation calls ``tilelang.cache.cached`` by its global name in ``tilelang``, ``tilelang.cache`` and
  ``tilelang.jit``; ``JITImpl`` keeps kernels in ``_kernel_cache`` and ``_call_form_cache``, ``AutoTuneImpl`` in
  ``_tuner_cache``;
- a ``JITKernel`` has a ``BaseKernelAdapter``, which the profiler calls;
- ``get_tensor_supply``, ``is_float8_dtype``, ``torch_assert_close`` are the profiler's.
"""

from __future__ import annotations

from tilelang.autotuner.tuner import AutoTuneImpl, AutoTuner
from tilelang.backend.module import BackendContext, create_backend_context
from tilelang.backend.pass_pipeline import PassPipeline
from tilelang.backend.target import auto_detect_target
from tilelang.cuda import pipeline as cuda_pipeline
from tilelang.engine.lower import extrac_params, lower_with_context
from tilelang.engine.semantic_check import PreLowerSemanticCheck
from tilelang.ir import get_stmt_span, span_to_location, stamp_stmt_spans
from tilelang.jit.adapter import BaseKernelAdapter
from tilelang.jit.adapter.base import CachedTextSource
from tilelang.jit.adapter.kernel_cache import TVMFFIKernelCache
from tilelang.language.eager.builder import Builder
from tilelang.language.kernel import KernelLaunchFrame
from tilelang.transform.pass_config import normalize_pass_configs
from tilelang.utils.tensor import get_tensor_supply, is_float8_dtype, torch_assert_close

__all__ = [
    "AutoTuneImpl",
    "AutoTuner",
    "BackendContext",
    "BaseKernelAdapter",
    "Builder",
    "CachedTextSource",
    "KernelLaunchFrame",
    "PassPipeline",
    "PreLowerSemanticCheck",
    "TVMFFIKernelCache",
    "auto_detect_target",
    "create_backend_context",
    "cuda_pipeline",
    "extrac_params",
    "get_stmt_span",
    "get_tensor_supply",
    "is_float8_dtype",
    "lower_with_context",
    "normalize_pass_configs",
    "span_to_location",
    "stamp_stmt_spans",
    "torch_assert_close",
]
