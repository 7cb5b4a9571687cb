"""How large one workload may be. What a server takes in one request is in its settings (`limits`).

Each bound is far above what people write and low enough that checking the largest workload takes milliseconds: the
control plane decides for all users on one thread.
"""

MAX_LABELS = 256
"""Labels of a workload or of a selector."""
MAX_NODE_LABELS = 4096
"""Labels of a node, which has one for each image it keeps."""
MAX_VALUES = 1000
"""Values of one comparison (`In`, `NotIn`, `in`)."""
MAX_MATCHES = 100
"""Comparisons of one term of node affinity."""
MAX_TERMS = 100
"""Terms of each list of node affinity."""
MAX_ALL_VALUES = 10_000
"""Values of all comparisons of one workload together."""
MAX_CONSTRAINTS = 50
"""Constraints of one workload."""
MAX_EXPRESSION = 4096
"""Characters of one expression."""
MAX_ALL_EXPRESSIONS = 16_384
"""Characters of all expressions of one workload together."""
MAX_ENV = 1000
"""Variables of a command."""
MAX_LIST = 1000
"""Arguments of a command; tolerations."""
MAX_ARGUMENT_BYTES = 128 * 1024 - 1
"""One argument or one variable: Linux starts no program with a longer one."""
MAX_RUN_BYTES = 256 * 1024
"""Arguments and variables of a command together."""
MAX_PAYLOAD_BYTES = 256 * 1024
"""What a function is given, as JSON."""
