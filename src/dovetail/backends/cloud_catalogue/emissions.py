"""What a machine draws at full load: an estimate from its shape, for the choice by carbon. Pure.

Watts of a vCPU and of a GiB, and the overhead of the building, are the averages that the Cloud Carbon Footprint project
uses for large clouds; those of GPUs are the boards' rated power.
"""

_VCPU_W, _GIB_W, _BUILDING = 3.5, 0.39, 1.135
_GPU_W = {
    "T4": 70.0,
    "A10G": 150.0,
    "A10": 150.0,
    "L4": 72.0,
    "L40S": 350.0,
    "P100": 250.0,
    "V100": 300.0,
    "A100": 400.0,
    "H100": 700.0,
    "H200": 700.0,
    "B200": 1000.0,
    "MI300X": 750.0,
}
_OTHER_GPU_W = 300.0


def watts(vcpu: float, memory_gib: float, gpu: int, gpu_model: str) -> float:
    drawn = vcpu * _VCPU_W + memory_gib * _GIB_W + gpu * _GPU_W.get(gpu_model, _OTHER_GPU_W)
    return round(drawn * _BUILDING, 1)
