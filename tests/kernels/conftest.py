"""Where the bundled kernels run in these tests: on the accelerator, or interpreted."""

import os

import pytest

torch = pytest.importorskip("torch")
if not torch.cuda.is_available():
    # Triton decides when the kernels' modules are imported, which the tests do after this.
    os.environ["TRITON_INTERPRET"] = "1"
pytest.importorskip("triton")


@pytest.fixture(scope="session")
def device():
    return "cuda" if torch.cuda.is_available() else "cpu"


@pytest.fixture(scope="session")
def assert_same():
    """Compare dtype, shape and every value, and ask for contiguity as ATen gives it."""

    def compare(actual, expected):
        torch.testing.assert_close(actual.cpu(), expected, rtol=0, atol=0)
        assert actual.is_contiguous()

    return compare


@pytest.fixture(scope="session")
def count_readbacks():
    """Call an operator and count the scalars that the host reads from tensors meanwhile."""
    from torch.utils._python_dispatch import TorchDispatchMode

    class Readbacks(TorchDispatchMode):
        count = 0

        def __torch_dispatch__(self, func, types, args=(), kwargs=None):
            self.count += func.overloadpacket is torch.ops.aten._local_scalar_dense
            return func(*args, **(kwargs or {}))

    def count(operator, *arguments, **named):
        with Readbacks() as reads:
            operator(*arguments, **named)
        return reads.count

    return count
