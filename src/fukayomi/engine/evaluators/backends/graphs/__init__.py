"""ONNX files as short lists of operations, for backends that compute networks themselves."""
