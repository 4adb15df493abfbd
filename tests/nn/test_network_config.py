"""The network's description, which imports nothing of the package, agrees with the native core."""

from fukayomi import _native
from fukayomi.nn import config


def test_sizes_are_those_of_the_native_core() -> None:
    assert (config.FEATURES1, config.FEATURES2) == (_native.FEATURES1, _native.FEATURES2)
    assert config.LABELS == _native.POLICY_LABELS
