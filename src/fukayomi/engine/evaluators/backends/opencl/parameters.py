"""Parameters of the kernels: what a tuner chooses for a device."""

from dataclasses import dataclass, fields


@dataclass(frozen=True, slots=True)
class Registers:
    """Block of the product of matrices without local memory, for CPUs."""

    rows: int = 8
    columns: int = 3
    """Vectors; 1, 3 or 9: so many divide the columns of a map for every number of boards."""

    def defines(self) -> dict[str, int]:
        """Macros of ``gemm_registers.cl``."""
        return {"ROWS": self.rows, "COLUMNS": self.columns}


@dataclass(frozen=True, slots=True)
class Tiled:
    """Tile of the product of matrices through local memory, for GPUs. The names are those of ``gemm_tiled.cl``."""

    MWG: int = 32
    NWG: int = 32
    KWG: int = 16
    MDIMC: int = 8
    NDIMC: int = 8
    MDIMA: int = 8
    NDIMB: int = 8
    KWI: int = 2
    VWM: int = 4
    VWN: int = 4
    STRM: int = 0
    STRN: int = 0
    SA: int = 1
    SB: int = 1
    PADA: int = 0
    PADB: int = 0

    def defines(self) -> dict[str, int]:
        """Macros of ``gemm_tiled.cl``."""
        return {field.name: getattr(self, field.name) for field in fields(self)}


@dataclass(frozen=True, slots=True)
class Wmma:
    """Tile of the product by NVIDIA's tensor cores, in half floats. The names are those of ``gemm_wmma.cl``."""

    MWG: int = 32
    NWG: int = 32
    KWG: int = 32
    MWAVE: int = 16
    NWAVE: int = 16
    MWARP: int = 16
    NWARP: int = 16
    VWM: int = 2
    VWN: int = 2
    SA: int = 0
    SB: int = 0

    @property
    def workers(self) -> int:
        """Work-items of a work-group: whole warps."""
        return 32 * (self.MWAVE // self.MWARP) * (self.NWAVE // self.NWARP)

    def defines(self) -> dict[str, int]:
        """Macros of ``gemm_wmma.cl``."""
        return {field.name: getattr(self, field.name) for field in fields(self)}


@dataclass(frozen=True, slots=True)
class Parameters:
    """How a network is computed on a device."""

    lanes: int = 16
    """Boards in a vector."""
    output: int = 3
    """Squares of a tile's side in Winograd's algorithm: 3 or 4."""
    tiles: int = 9
    """Tiles that a work-item transforms: 1 or 9."""
    transform: tuple[int, int, int] = (1, 1, 1)
    """Work-group of Winograd's transform: boards, tiles, channels."""
    untransform: tuple[int, int, int] = (1, 1, 1)
    """The same of what follows the products."""
    storage16: bool = False
    """Activations and weights as half floats in memory."""
    compute16: bool = False
    """Products in half floats, where the device has them."""
    convolutions: Registers | Tiled | Wmma = Registers()
    """Products of Winograd's points. `Wmma` needs storage16."""
    direct: Registers | Tiled = Registers()
    """All other products."""
