"""Whose fault a failure of a VM is, read from the words of libvirt, QEMU and this backend."""

from dovetail.backends.failure_rules import FailureRule, FailureRules
from dovetail.model.failure_cause import FailureCause

WORKLOAD, NODE, BACKEND, UNKNOWN = FailureCause.WORKLOAD, FailureCause.NODE, FailureCause.BACKEND, FailureCause.UNKNOWN

FAILURES = FailureRules([
    # What the hypervisor lacks, in words that others below would match.
    FailureRule("unable to find .*firmware", NODE,
                "install UEFI firmware on the hypervisor (Debian: ovmf; for arm64 VMs: qemu-efi-aarch64)"),
    FailureRule("unable to map backing store", NODE, "reserve more huge pages on the hypervisor (vm.nr_hugepages)"),
    FailureRule("hugetlbfs", NODE, "mount hugetlbfs on the hypervisor and start its libvirtd again"),
    FailureRule("has no NUMA cell", NODE),
    # What the workload names or asks for.
    FailureRule("has no volume", WORKLOAD, "correct the name under vm, or put the volume into the pool"),
    FailureRule("unsupported machine type|does not support machine type", WORKLOAD, "correct vm.machine"),
    FailureRule("unknown cpu model|unsupported cpu|CPU is incompatible|the CPU.*not supported", WORKLOAD,
                "correct vm.cpu_model"),
    FailureRule("network not found|no network with matching name|cannot get interface mtu", WORKLOAD,
                "correct vm.networks, or define the network on the hypervisor"),
    FailureRule("could not open|could not load kernel|invalid kernel header|cannot access (storage|backing) file",
                WORKLOAD, "correct the image, kernel and disks under vm"),
    FailureRule("unsupported configuration|XML error|invalid argument", WORKLOAD),
    FailureRule("ran longer than its time limit|kernel panicked", WORKLOAD),
    FailureRule("no domain with matching name|does not run|belongs to", WORKLOAD),
    # What the hypervisor lacks.
    FailureRule("cannot allocate memory|cannot set up guest memory", NODE,
                "lower overcommit.memory of the hypervisor"),
    FailureRule("no space left on device", NODE, "make room in the hypervisor's storage pool"),
    FailureRule("read-only file system|input/output error", NODE, "look at the hypervisor's disk"),
    FailureRule("storage pool", NODE, "define and start the pool on the hypervisor, or name another in the settings"),
    # What passes.
    FailureRule("is offline:|fell silent|cannot acquire state change lock", BACKEND),
])  # fmt: skip
