// The cleaner of certificate signing requests of kube-controller-manager, without the rest of it.
//
// There it looks once an hour, for the first time before its cache is filled. Here it is started when its cache is.
package main

import (
	"context"
	"log"
	"os"

	"k8s.io/client-go/informers"
	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/tools/clientcmd"
	"k8s.io/kubernetes/pkg/controller/certificates/cleaner"
)

func main() {
	config, err := clientcmd.BuildConfigFromFlags("", os.Args[1])
	if err != nil {
		log.Fatal(err)
	}
	config.QPS, config.Burst = 1_000, 2_000
	client, err := kubernetes.NewForConfig(config)
	if err != nil {
		log.Fatal(err)
	}
	ctx := context.Background()
	factory := informers.NewSharedInformerFactory(client, 0)
	requests := factory.Certificates().V1().CertificateSigningRequests()
	collector := cleaner.NewCSRCleanerController(client.CertificatesV1().CertificateSigningRequests(), requests)
	factory.Start(ctx.Done())
	factory.WaitForCacheSync(ctx.Done())
	collector.Run(ctx, 1)
}
