"""A device for OpenCL: in CI PoCL on the CPU, which the package pyopencl[pocl] brings."""

import pytest


@pytest.fixture(scope="session")
def opencl_device():
    """The best device; skips where there is none."""
    pytest.importorskip("pyopencl", reason="pyopencl is not installed: pip install 'pyopencl[pocl]'")
    from fukayomi.engine.evaluators.backends.opencl.devices import ranked

    if not ranked():
        pytest.skip("no device with an OpenCL driver: pip install 'pyopencl[pocl]'")
    return ranked()[0]
