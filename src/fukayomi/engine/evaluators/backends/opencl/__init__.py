"""Networks on any device with an OpenCL driver: what they compute, kernels, devices."""
