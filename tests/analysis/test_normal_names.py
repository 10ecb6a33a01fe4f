import polars as pl
import pytest
from hypothesis import given
from hypothesis import strategies as st

from fgtrace.analysis.normal_names import (
    API,
    DECORATION,
    KERNEL,
    RANGE,
    normal_name,
    normal_names,
)
from fgtrace.frames.schema import KIND
from fgtrace.opening import open_trace

GEMM = "cutlass_80_tensorop_s1688gemm_128x64_32x6_nt_align4"

EXAMPLES = {
    # rule: what it is for, what comes of it, and a near miss that stays as it is
    "clone": ("f [clone .isra.0]", "f", "f_clone"),
    "descriptor": ("attention.kd", "attention", "attention_kd"),
    "own-to-file": ("_Z1fv.intern.b96e08b3df0d779d", "_Z1fv", "_Z1fv.internal"),
    "abi-tag": ("void f[abi:cxx11](int)", "f", "f_abi"),
    "anonymous": ("void n::(anonymous namespace)::f(int)", "n::f", "n::anonymous::f"),
    "version": ("void rocprim::ROCPRIM_400200_NS::f<int>(int)", "rocprim::f", "n::MY_V2_NS::f"),
    "cub-wrapped": ("void at_cuda_detail::cub::Scan<int>(int)", "cub::Scan", "at_cuda_detail::f"),
    "cub-detail": ("void cub::detail::scan::Scan<int>(int)", "cub::Scan", "rocprim::detail::Scan"),
    "cub-plus": ("void cub::Scan<int, cub::Sum>(int)", "cub::Scan<plus>", "cub::Scan<Max>"),
    "cublas-part": ("void cublasLt::splitK<int>(int)", "splitK", "cublas::splitK"),
    "cudnn-part": ("void cask_cudnn_infer::f<int>(int)", "cask_cudnn::f", "cask_mine_infer::f"),
    "collective": ("ncclDevKernel_AllReduce_Sum_f32_RING_LL(A)", "nccl AllReduce", "ncclKernels"),
    "collective-2.7": ("ncclReduceTreeLLKernel_sum_f32(A)", "nccl Reduce", "ncclReduceScalar"),
    "rocm-unroll": (
        "void at::native::elementwise_kernel_manual_unroll<128, 8, at::native::F<int> >(int)",
        "at::native::elementwise_kernel<F>",
        "at::native::unrolled_elementwise_kernel<F>",
    ),
    "flaggems-rank": ("neg_func_kernel_rank_2", "neg_func_kernel", "lower_rank_2"),
    "device": ("volta_gcgemm_nt", "gcgemm_nt", "volta_transpose"),
    "device-cudnn": ("cudnn_infer_ampere_scudnn_nn", "cudnn_scudnn_nn", "cudnn_infer_scudnn_nn"),
    "device-cutlass": ("cutlass_75_simt_sgemm_nn", "cutlass_simt_sgemm_nn", "cutlass_nn_75"),
    "device-nvjet": ("nvjet_sm100_tst_TNT", "nvjet_tst_TNT", "nvjet_small_TNT"),
    "device-fmha": ("fmha_cutlassF_f32_rf_sm80", "fmha_cutlassF_f32_rf", "mine_sm80"),
    "library": ("xgemm_execute_kernel__5x_cublas", "xgemm_execute_kernel", "like_cublas"),
    "tile-transpose": (
        "batched_transpose_16x64_pack_1x4_ediv_1x2_half",
        "batched_transpose_half",
        "batched_transpose_tail",
    ),
    "tile": (
        "xmma_gemm_f32_nn_tilesize64x128x8_stage3_warpsize1x4x1_ffma_execute_kernel",
        "xmma_gemm_f32_nn_ffma_execute_kernel",
        "fft2d_r2c_32x32",
    ),
    "tile-tensile": (
        "Cijk_Ailk_Bljk_BBS_BH_MT64x32x8_SN_ISA942",
        "Cijk_Ailk_Bljk_BBS_BH",
        "Cijk_GA",
    ),
    "split-tensile": ("Cijk_DD_PostGSU16_VW2", "Cijk_DD_PostGSU", "Cijk_DD_GSU16_VW2"),
    "tile-igemm": (
        "igemm_fwd_gtcx3_nhwc_bf16_bx0_ex1_bt64x64x64_wt16x16x16",
        "igemm_fwd_gtc_nhwc_bf16",
        "igemm_fwd_mine_nhwc_bf16",
    ),
    "call": ("fgtrace::call::c::r::5", "fgtrace::call::c::r::*", "layer::5"),
    "number": ("ProfilerStep#12", "ProfilerStep#*", "Optimizer.step#Adam.step"),
    "step": ("epoch 3 of run, iter=17", "epoch * of run, iter=*", "footstep 3, step 4x"),
    "graph": (
        f"## Call CompiledFxGraph {'fa7x' * 13} ##",
        "## Call CompiledFxGraph * ##",
        "fa7xfa7x",
    ),
    "version-api": ("cuMemcpyAsync_v2_ptsz", "MemcpyAsync", "runFunction - v2"),
    "revision-api": ("hipGetDevicePropertiesR0600", "GetDeviceProperties", "SetR06"),
    "launch": ("hipExtModuleLaunchKernel", "LaunchKernel", "LaunchCallback"),
    "vendor": ("cudaEventRecord", "EventRecord", "cudacious"),
}
KINDS = {"kernel": (*DECORATION, *KERNEL), "range": RANGE, "runtime": API}


def test_every_rule_has_an_example():
    assert EXAMPLES.keys() == {rule.name for rules in KINDS.values() for rule in rules}


@pytest.mark.parametrize(
    ("kind", "rule"), [(kind, rule) for kind, rules in KINDS.items() for rule in rules]
)
def test_each_rule_has_what_it_is_for_and_leaves_what_only_looks_like_it(kind, rule):
    name, normal, near_miss = EXAMPLES[rule.name]
    assert normal_name(name, kind) == normal
    assert normal_name(near_miss, kind) == near_miss


ATEN = "void at::native::vectorized_elementwise_kernel"


@pytest.mark.parametrize(
    ("name", "normal"),
    [
        (
            f"{ATEN}<4, at::native::CUDAFunctor_add<float>, std::array<char*, 3ul> >(int)",
            "at::native::vectorized_elementwise_kernel<CUDAFunctor_add>",
        ),
        (
            f"{ATEN}<8, at::native::BinaryFunctor<c10::Half, c10::Half, c10::Half,"
            " at::native::binary_internal::MulFunctor<float> >, at::detail::Array<char*, 3> >(int)",
            "at::native::vectorized_elementwise_kernel<BinaryFunctor, MulFunctor>",
        ),
        (
            f"{ATEN}<4, at::native::exp_kernel_cuda(at::TensorIteratorBase&)::{{lambda()#2}}"
            "::operator()() const::{lambda(float)#1}, std::array<char*, 2ul> >(int)",
            "at::native::vectorized_elementwise_kernel<exp_kernel_cuda>",
        ),
        (
            f"{ATEN}<4, at::native::float16_copy_kernel_cuda(at::TensorIteratorBase&)"
            "::{lambda(float)#1}, std::array<char*, 2ul> >(int)",
            "at::native::vectorized_elementwise_kernel<float16_copy_kernel_cuda>",
        ),
        (
            "void at::native::reduce_kernel<512, 1, at::native::ReduceOp<float,"
            " at::native::func_wrapper_t<float, at::native::sum_functor<float, float>::operator()"
            "(at::TensorIterator&)::{lambda(float, float)#1}>, unsigned int, float, 4> >(int)",
            "at::native::reduce_kernel<sum_functor>",
        ),
        (
            "void at::native::(anonymous namespace)::multi_tensor_apply_kernel<at::native::"
            "(anonymous namespace)::TensorListMetadata<1>, at::native::(anonymous namespace)::"
            "BinaryOpScalarFunctor<float, 1, 1, 0>, std::plus<float>, float>(int)",
            "at::native::multi_tensor_apply_kernel<BinaryOpScalarFunctor, plus>",
        ),
        (
            "void cub::ScanKernel<cub::Policy<long>::Policy900, long*, std::plus<long> >(int)",
            "cub::ScanKernel<plus>",
        ),
        ("void act_and_mul<c10::BFloat16, &vllm::silu<float> >(int)", "act_and_mul<silu>"),
        (f"void cutlass::Kernel2<{GEMM}>({GEMM}::Params)", "cutlass_tensorop_s1688gemm_nt_align4"),
        (
            "void cutlass::device_kernel<cutlass::gemm::GemmUniversal<cute::tuple<int> > >()",
            "cutlass::device_kernel<cutlass::gemm::GemmUniversal>",
        ),
    ],
)
def test_what_a_kernel_computes_stays_of_its_template_arguments(name, normal):
    assert normal_name(name, "kernel") == normal


def test_other_types_widths_and_tiles_make_no_other_kernel_but_other_functions_do():
    def kernel(width, functor, scalar):
        return normal_name(f"{ATEN}<{width}, at::native::{functor}<{scalar}> >(int)", "kernel")

    assert kernel(4, "AddFunctor", "float") == kernel(8, "AddFunctor", "c10::BFloat16")
    assert kernel(4, "AddFunctor", "float") != kernel(4, "MulFunctor", "float")


def test_gemms_of_other_devices_are_the_same_when_layout_and_precision_are():
    assert normal_name("volta_sgemm_32x128_nt") == normal_name("ampere_sgemm_64x32_sliced1x4_nt")
    assert normal_name("volta_sgemm_32x128_nt") != normal_name("volta_sgemm_32x128_nn")
    assert normal_name("ampere_sgemm_64x64_nn") != normal_name("ampere_fp16_s16816gemm_64x64_nn")


def test_old_and_new_collectives_are_the_same():
    old = normal_name("ncclKernel_AllReduce_RING_LL_Sum_float(ncclWorkElem)", "kernel")
    new = normal_name("ncclDevKernel_AllReduce_Sum_f32_RING_LL(ncclDevComm*)", "kernel")
    assert old == new == "nccl AllReduce"
    assert normal_name("ncclDevKernel_AllGather_RING_LL(ncclDevComm*)", "kernel") != new


@pytest.mark.parametrize(
    ("name", "normal"),
    [
        ("add_kernel_0d1d2de3d", "add_kernel"),
        ("add_kernel_0d1c", "add_kernel"),
        ("add_kernel_0123", "add_kernel_0123"),
        ("add_kernel_1d2d", "add_kernel_1d2d"),
        ("add_kernel_3f9a1c77", "add_kernel"),
        ("add_kernel_0d1d2d_3f9a1c77", "add_kernel"),
        ("add_kernel_20240101", "add_kernel_20240101"),
        ("add_kernel_deadbeef", "add_kernel_deadbeef"),
        ("add_kernel_3f9a1c7", "add_kernel_3f9a1c7"),
        ("add_kernel_bf16bf16", "add_kernel_bf16bf16"),
        ("triton_poi_fused_add_mul_0", "triton_poi_fused_add_mul"),
        ("triton_poi_fused_add_mul_12_0d1d2d", "triton_poi_fused_add_mul"),
        ("triton_mm_128", "triton_mm_128"),
        ("block_sum_2", "block_sum_2"),
        ("_0d1d", "_0d1d"),
    ],
)
def test_what_triton_inductor_and_caches_append_is_dropped(name, normal):
    assert normal_name(name, "kernel") == normal


def test_mangled_names_and_other_text_stay_as_they_are():
    for name in ("_Z6kernelILi4EEvPf", "f<int(int", "run_3(a)_then_4(b)", "two words"):
        assert normal_name(name, "kernel") == name


@pytest.mark.parametrize(
    ("name", "kind", "normal"),
    [
        ("Memcpy DtoH (Device -> Pageable)", "memcpy", "Memcpy DtoH"),
        ("Memcpy DtoH (Device -> Pinned)", "memcpy", "Memcpy DtoH"),
        ("Memcpy PtoP (Device -> Device)", "memcpy", "Memcpy PtoP"),
        ("CopyDeviceToHost", "memcpy", "Memcpy DtoH"),
        ("MEMORY_COPY_HOST_TO_DEVICE", "memcpy", "Memcpy HtoD"),
        ("[CUDA memcpy Device-to-Host]", "memcpy", "Memcpy DtoH"),
        ("hipMemcpyDtoH", "memcpy", "Memcpy DtoH"),
        ("__amd_rocclr_copyBuffer", "memcpy", "Memcpy"),
        ("__amd_rocclr_copyBufferRectAligned.kd", "kernel", "Memcpy"),
        ("Memset (Unknown)", "memset", "Memset"),
        ("__amd_rocclr_fillBufferAligned", "memset", "Memset"),
        ("__amd_rocclr_fillBufferAligned.kd", "kernel", "Memset"),
        ("MemcpyTiles", "kernel", "MemcpyTiles"),
        ("hipMemcpyDtoH", "runtime", "MemcpyDtoH"),
        ("hipMemcpyWithStream", "runtime", "MemcpyWithStream"),
    ],
)
def test_a_copy_or_a_fill_has_one_spelling(name, kind, normal):
    assert normal_name(name, kind) == normal


@pytest.mark.parametrize(
    "name",
    [
        "cudaLaunchKernel",
        "cudaLaunchKernelExC",
        "cudaLaunchCooperativeKernel_ptsz",
        "cuLaunchKernel",
        "cuLaunchKernelEx",
        "hipLaunchKernel",
        "hipModuleLaunchKernel",
        "hipExtModuleLaunchKernel",
        "hipExtLaunchMultiKernelMultiDevice",
        "musaLaunchKernel",
        "urEnqueueKernelLaunch",
    ],
)
def test_launches_of_every_vendor_are_one_call(name):
    assert normal_name(name, "runtime") == "LaunchKernel"


def test_launches_of_graphs_and_host_functions_are_no_launches_of_kernels():
    assert normal_name("cudaGraphLaunch_v10000", "runtime") == "GraphLaunch"
    assert normal_name("hipGraphLaunch", "runtime") == "GraphLaunch"
    assert normal_name("cudaLaunchHostFunc", "runtime") == "LaunchHostFunc"


@pytest.mark.parametrize("kind", ["op", "python", "sync_record", "overhead", "memory", "other"])
def test_names_of_other_kinds_stay_as_they_are(kind):
    for name in ("aten::add", "volta_sgemm_128x32_nt", "cudaMalloc", "step 3", "void f<int>(int)"):
        assert normal_name(name, kind) == name


def test_the_parameters_of_a_case_are_no_numbers_of_calls():
    name = "fgtrace::call::sort,step=3::native::12"
    assert normal_name(name, "range") == "fgtrace::call::sort,step=3::native::*"


@pytest.mark.parametrize(
    ("name", "kind"),
    [
        ("cudaLaunchKernelExC", "runtime"),
        ("cuMemcpyAsync_v2", "driver"),
        ("Memcpy HtoD (Pinned -> Device)", "memcpy"),
        ("Memset (Device)", "memset"),
        ("ProfilerStep#3", "range"),
        ("fgtrace::call::c::r::5", "range"),
        ("void n::f<n::AddFunctor<int> >(int)", "kernel"),
        ("aten::add_", "op"),
        ("autograd::engine::evaluate_function: MulBackward0", "op"),
    ],
)
def test_without_a_kind_the_name_decides(name, kind):
    assert normal_name(name) == normal_name(name, kind)


def test_names_of_a_trace_are_looked_at_with_their_kinds_and_null_stays_null():
    names = pl.Series("name", ["cudaMalloc", "cudaMalloc", None, "f_1a2b3c4d5", "cudaMalloc"])
    kinds = pl.Series(["runtime", "op", "kernel", "kernel", None], dtype=KIND)
    expected = ["Malloc", "cudaMalloc", None, "f", "Malloc"]
    for column in (names, names.cast(pl.Categorical)):
        normal = normal_names(column, kinds)
        assert normal.to_list() == expected
        assert (normal.name, normal.dtype) == ("name", pl.String)


def test_names_are_looked_at_without_kinds_and_there_can_be_none():
    assert normal_names(pl.Series(["hipFree", None, "g.kd"])).to_list() == ["Free", None, "g"]
    assert normal_names(pl.Series([], dtype=pl.Categorical)).to_list() == []


WORDS = """
    void at::native:: std::plus cub::detail:: cub::Sum {lambda()#1} operator() int f Kernel cutlass
    _ __ 0d1 1a2b3c4d triton_ fused _128x32 gemm Cijk_a_MT1x sm80_ nccl DevKernel_ volta_ cudnn_
    _kernel _rank_2 cuda hip Launch Memcpy DtoH step #1 _v2 R0600 < > ( ) :: , .kd [clone
"""
SPACED = [" ", "\n", "(anonymous namespace)::", " [clone .x]"]
NAMES = st.text() | st.lists(st.sampled_from([*WORDS.split(), *SPACED])).map("".join)


@given(NAMES, st.sampled_from([None, *KIND.categories]))
def test_the_normal_form_of_any_text_is_its_own_normal_form(name, kind):
    normal = normal_name(name, kind)
    assert normal_name(normal, kind) == normal


@pytest.mark.parametrize(
    "piece",
    [
        "<",
        "f<",
        "f<(",
        "(<)",
        "_",
        "_0",
        "_v1",
        "a::",
        "void ",
        "cudaLaunch",
        "1x",
        "_MT1",
        "step ",
    ],
)
def test_a_long_hostile_name_comes_to_an_end(piece):
    for name in (piece * (100_000 // len(piece)) + end for end in ("", "!", "gemm_1x1>)")):
        for kind in ("kernel", "runtime", "range", "memcpy"):
            assert normal_name(normal_name(name, kind), kind) == normal_name(name, kind)


def test_a_model_on_devices_of_two_vendors_has_more_names_in_common(shared):
    def kernels(file):
        work = open_trace(shared / "traces" / file).device_work
        names = work["name"].cast(pl.String)
        return set(names), set(normal_names(names, work["kind"]))

    raw, normal = kernels("tl_h100_qwen.json.gz")
    raw_there, normal_there = kernels("tl_mi300_qwen.json.gz")
    assert len(normal & normal_there) > len(raw & raw_there)
    assert len(normal) > 0.8 * len(raw)  # what differs within one recording mostly stays so
