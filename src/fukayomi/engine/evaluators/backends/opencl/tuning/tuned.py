"""What the tuner has found for a device."""

from dataclasses import dataclass, replace

from fukayomi.engine.evaluators.backends.opencl.parameters import Parameters, Registers, Tiled, Wmma

DIRECT, GEMM, WMMA = Tiled(MWG=32, NWG=32, KWG=32, KWI=8, VWM=2, VWN=2, PADA=1, PADB=1), Tiled(), Wmma()


@dataclass(frozen=True, slots=True)
class Tuned:
    """The fastest parameters of each kernel, and what to use of them.

    The tiles are kept also where blocks in registers are faster: they are what KataGo's file holds.
    """

    x_gemm_direct: Tiled = DIRECT
    """Tile of 1x1 convolutions and dense layers."""
    x_gemm: Tiled = GEMM
    """Tile of 3x3 convolutions."""
    x_gemm16: Tiled = GEMM
    """The same, computed in half floats."""
    wmma: Wmma = WMMA
    """The same by tensor cores."""
    transform: tuple[int, int, int] = (8, 1, 4)
    untransform: tuple[int, int, int] = (8, 1, 4)
    lanes: int = 4
    output: int = 3
    tiles: int = 1
    direct_registers: Registers | None = None
    """Block of 1x1 convolutions and dense layers, where blocks are faster than tiles."""
    registers: Registers | None = None
    """Block of 3x3 convolutions, where blocks are faster than tiles."""
    fp16_storage: bool = False
    """True if half floats in memory are clearly faster."""
    fp16_compute: bool = False
    """True if half floats are clearly faster in products too."""
    fp16_tensor_cores: bool = False
    """True if tensor cores are to compute 3x3 convolutions."""

    def parameters(self, *, half: bool | None = None) -> Parameters:
        """The parameters for a network.

        Args:
            half: Half floats, at least in memory; None: if they are faster.
        """
        half = self.fp16_storage if half is None else half
        found = Parameters(
            lanes=self.lanes,
            output=self.output,
            tiles=self.tiles,
            transform=self.transform,
            untransform=self.untransform,
            convolutions=self.registers or self.x_gemm,
            direct=self.direct_registers or self.x_gemm_direct,
        )
        if not half:
            return found
        found = replace(found, storage16=True, compute16=self.fp16_compute)
        if self.fp16_tensor_cores:
            return replace(found, convolutions=self.wmma)
        return replace(found, convolutions=self.x_gemm16) if self.fp16_compute else found
