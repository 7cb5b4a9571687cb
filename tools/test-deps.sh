#!/bin/sh
# Installs what tests against real programs need: system packages, an emulator of AWS, and the Kubernetes programs and Helm,
# which no package has and which are built here once (about ten minutes on two cores). Tests whose program is missing are skipped and say
# so, so this succeeds wherever it can do nothing; it fails only when an install that was tried fails. Needs .venv for the
# build.
set -eu

cd "$(dirname "$0")/.."

# One line a program: the command the tests call, or a file where there is no command, and the Debian package that brings it.
needs="
ps                                      procps
chromium-headless-shell                 chromium-headless-shell
openssl                                 openssl
prometheus                              prometheus
promtool                                prometheus
dockerd                                 docker.io
/usr/share/doc/busybox-static           busybox-static
munged                                  munge
slurmctld                               slurm-wlm
slurmd                                  slurm-wlm
slurmrestd                              slurmrestd
/usr/lib/*/slurm-wlm/auth_jwt.so        slurm-wlm-jwt-plugin
qsub                                    slurm-wlm-torque
slurmdbd                                slurmdbd
mariadbd                                mariadb-server-core
my_print_defaults                       mariadb-client-core
ipmi_sim                                openipmi
ipmitool                                ipmitool
sshd                                    openssh-server
ssh                                     openssh-client
node                                    nodejs
npm                                     npm
lldpd                                   lldpd
tc                                      iproute2
libvirtd                                libvirt-daemon-system
virsh                                   libvirt-clients
cloud-init                              cloud-init
qemu-system-x86_64                      qemu-system-x86
qemu-img                                qemu-utils
/usr/share/OVMF/OVMF_CODE_4M.fd         ovmf
/usr/lib/*/pkgconfig/libvirt.pc         libvirt-dev
pkg-config                              pkgconf
/etc/ssl/certs/ca-certificates.crt      ca-certificates
"

is_here() {
    # shellcheck disable=SC2086  # the pattern is meant to be filled in
    case $1 in
        /*) ls -d $1 >/dev/null 2>&1 ;;
        *) command -v "$1" >/dev/null 2>&1 ;;
    esac
}

missing=$(echo "$needs" | while read -r program package; do
    [ -z "$program" ] || is_here "$program" || echo "$package"
done | sort -u | tr '\n' ' ')
missing=${missing% }

# The tests start their own servers; an install must not start the system's. Holds until the shell that calls it ends.
policy=/usr/sbin/policy-rc.d
forbid_starting_servers() {
    [ ! -e $policy ] || return 0
    trap 'rm -f $policy' EXIT
    trap 'exit 1' HUP INT TERM
    printf '#!/bin/sh\nexit 101\n' >$policy
    chmod 755 $policy
}

if [ -z "$missing" ]; then
    echo "test-deps: all system packages are installed"
elif ! command -v apt-get >/dev/null 2>&1; then
    echo "test-deps: not a Debian system; install what corresponds to these Debian packages: $missing"
elif [ "$(id -u)" -ne 0 ]; then
    echo "test-deps: not root; to install what is missing: sudo apt-get install -y $missing"
else
    echo "test-deps: installing $missing…"
    export DEBIAN_FRONTEND=noninteractive
    apt-get update -qq </dev/null >/dev/null
    case " $missing " in *" cloud-init "*)
        # The tests call it inside of namespaces; at the next start of this machine it has nothing to do.
        mkdir -p /etc/cloud && touch /etc/cloud/cloud-init.disabled ;;
    esac
    (
        forbid_starting_servers
        # shellcheck disable=SC2086  # a list of packages
        apt-get install -y -qq --no-install-recommends $missing </dev/null >/dev/null
    )
fi

# libvirt-python is built here, for the libvirt that is installed.
if libvirt=$(pkg-config --modversion libvirt 2>/dev/null); then
    .venv/bin/python -m pip install --quiet --no-input --disable-pip-version-check "libvirt-python==$libvirt" </dev/null ||
        echo "test-deps: libvirt-python $libvirt could not be built; tests of VMs are skipped"
fi

if [ -n "${KUBEBUILDER_ASSETS:-}" ]; then
    echo "test-deps: the Kubernetes programs are those in $KUBEBUILDER_ASSETS"
else
    .venv/bin/python -m tests.servers.kubernetes.build
fi
.venv/bin/python -m tests.servers.helm.programs
.venv/bin/python -m tests.servers.ministack

# What checks the dashboard.
if command -v npm >/dev/null 2>&1; then
    (cd tools/web && npm ci --silent --no-audit --no-fund </dev/null) || echo "test-deps: the packages in tools/web could not be installed"
fi
