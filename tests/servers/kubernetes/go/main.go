// dovetail-kube-test is three programs of a Kubernetes control plane in one binary: etcd, kube-apiserver and
// kube-scheduler, unchanged, each with all its own flags. The tests of Dovetail run them as real servers; nobody
// ships them as packages, and one binary links the code they share once.
//
// The first argument says which program to be; the rest is that program's command line. It guarantees nothing of its
// own: which flags, ports and folders make a server for tests is said where it is started.
package main

import (
	"fmt"
	"os"

	"github.com/spf13/cobra"
	"go.etcd.io/etcd/server/v3/etcdmain"
	"k8s.io/component-base/cli"
	_ "k8s.io/component-base/logs/json/register"
	_ "k8s.io/component-base/metrics/prometheus/clientgo"
	_ "k8s.io/component-base/metrics/prometheus/version"
	apiserver "k8s.io/kubernetes/cmd/kube-apiserver/app"
	scheduler "k8s.io/kubernetes/cmd/kube-scheduler/app"
)

const usage = "usage: dovetail-kube-test etcd|kube-apiserver|kube-scheduler [its flags]"

func main() {
	if len(os.Args) < 2 {
		fmt.Fprintln(os.Stderr, usage)
		os.Exit(2)
	}
	// Each program reads its flags from os.Args, and names itself in logs and as a client by os.Args[0].
	os.Args = os.Args[1:]
	switch os.Args[0] {
	case "etcd":
		etcdmain.Main(os.Args)
	case "kube-apiserver":
		run(apiserver.NewAPIServerCommand())
	case "kube-scheduler":
		run(scheduler.NewSchedulerCommand())
	default:
		fmt.Fprintf(os.Stderr, "dovetail-kube-test: no program %q here\n%s\n", os.Args[0], usage)
		os.Exit(2)
	}
}

func run(command *cobra.Command) {
	os.Exit(cli.Run(command))
}
