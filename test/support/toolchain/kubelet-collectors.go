// The kubelet's two collectors, without the rest of it: a node for each line of JSON on stdin, and what they remove of
// it as a line of JSON on stdout. Both are the kubelet's own code; only what they look at and act on is written here.
package main

import (
	"bufio"
	"context"
	"encoding/json"
	"fmt"
	"log"
	"os"
	"reflect"
	"time"
	"unsafe"

	"go.opentelemetry.io/otel/trace"
	"go.opentelemetry.io/otel/trace/noop"
	v1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/tools/record"
	internalapi "k8s.io/cri-api/pkg/apis"
	runtimeapi "k8s.io/cri-api/pkg/apis/runtime/v1"
	critest "k8s.io/cri-api/pkg/apis/testing"
	"k8s.io/klog/v2"
	stats "k8s.io/kubelet/pkg/apis/stats/v1alpha1"
	kubetypes "k8s.io/kubelet/pkg/types"
	kubecontainer "k8s.io/kubernetes/pkg/kubelet/container"
	containertest "k8s.io/kubernetes/pkg/kubelet/container/testing"
	"k8s.io/kubernetes/pkg/kubelet/images"
	_ "k8s.io/kubernetes/pkg/kubelet/kuberuntime"
)

// A pass that took longer is done again: ages in a case lie half a second beside every limit.
const mostPassTime = 400 * time.Millisecond

// Ages are milliseconds before the pass. Null: never.
type caseImage struct {
	ID            string `json:"id"`
	Size          int64  `json:"size"`
	Pinned        bool   `json:"pinned"`
	DetectedAgoMs int64  `json:"detectedAgoMs"`
	UsedAgoMs     *int64 `json:"usedAgoMs"`
}

type imageCase struct {
	Images       []caseImage `json:"images"`
	UsedImages   []string    `json:"usedImages"`
	StartedAgoMs int64       `json:"startedAgoMs"`
	Capacity     uint64      `json:"capacity"`
	Available    uint64      `json:"available"`
	High         int         `json:"high"`
	Low          int         `json:"low"`
	MinAgeMs     int64       `json:"minAgeMs"`
	MaxAgeMs     int64       `json:"maxAgeMs"`
	// What an eviction does, in place of a pass.
	Forced bool `json:"forced"`
}

type caseContainer struct {
	ID           string `json:"id"`
	Name         string `json:"name"`
	PodUID       string `json:"podUid"`
	SandboxID    string `json:"sandboxId"`
	State        string `json:"state"`
	CreatedAgoMs int64  `json:"createdAgoMs"`
}

type caseSandbox struct {
	ID           string `json:"id"`
	PodUID       string `json:"podUid"`
	Ready        bool   `json:"ready"`
	CreatedAgoMs int64  `json:"createdAgoMs"`
}

type containerCase struct {
	Containers       []caseContainer `json:"containers"`
	Sandboxes        []caseSandbox   `json:"sandboxes"`
	ContentRemovable []string        `json:"contentRemovable"`
	RuntimeRemovable []string        `json:"runtimeRemovable"`
	AllSourcesReady  bool            `json:"allSourcesReady"`
	MinAgeMs         int64           `json:"minAgeMs"`
	MaxPerPod        int             `json:"maxPerPod"`
	MaxContainers    int             `json:"maxContainers"`
	Forced           bool            `json:"forced"`
}

type givenCase struct {
	Images     *imageCase     `json:"images"`
	Containers *containerCase `json:"containers"`
}

type answer struct {
	Removed []string `json:"removed"`
}

// imageRuntime is the runtime as the image manager sees it.
type imageRuntime struct {
	kubecontainer.Runtime
	given   *imageCase
	removed []string
}

func (r *imageRuntime) ListImages(context.Context) ([]kubecontainer.Image, error) {
	var all []kubecontainer.Image
	for _, image := range r.given.Images {
		all = append(all, kubecontainer.Image{ID: image.ID, Size: image.Size, Pinned: image.Pinned})
	}
	return all, nil
}

func (r *imageRuntime) GetPods(context.Context, bool) ([]*kubecontainer.Pod, error) {
	pod := &kubecontainer.Pod{}
	for index, image := range r.given.UsedImages {
		id := kubecontainer.ContainerID{Type: "test", ID: fmt.Sprint(index)}
		pod.Containers = append(pod.Containers, &kubecontainer.Container{ID: id, ImageID: image})
	}
	return []*kubecontainer.Pod{pod}, nil
}

func (r *imageRuntime) GetContainerStatus(context.Context, kubecontainer.ContainerID) (*kubecontainer.Status, error) {
	return &kubecontainer.Status{}, nil
}

func (r *imageRuntime) RemoveImage(_ context.Context, image kubecontainer.ImageSpec) error {
	r.removed = append(r.removed, image.Image)
	return nil
}

func (r *imageRuntime) ImageFsStats(context.Context) (*stats.FsStats, *stats.FsStats, error) {
	of := &stats.FsStats{CapacityBytes: &r.given.Capacity, AvailableBytes: &r.given.Available}
	return of, of, nil
}

func milliseconds(count int64) time.Duration { return time.Duration(count) * time.Millisecond }

// The fields of the kubelet's record of an image.
type imageRecord struct {
	handler       string
	firstDetected time.Time
	lastUsed      time.Time
	size          int64
	pinned        bool
}

func imagePass(ctx context.Context, given *imageCase) []string {
	runtime := &imageRuntime{given: given}
	policy := images.ImageGCPolicy{
		HighThresholdPercent: given.High,
		LowThresholdPercent:  given.Low,
		MinAge:               milliseconds(given.MinAgeMs),
		MaxAge:               milliseconds(given.MaxAgeMs),
	}
	manager, err := images.NewImageGCManager(
		runtime, runtime, nil, &record.FakeRecorder{}, &v1.ObjectReference{}, policy, noop.NewTracerProvider())
	if err != nil {
		log.Fatal(err)
	}
	now := time.Now()
	remember(manager, given.Images, now)
	if given.Forced {
		err = manager.DeleteUnusedImages(ctx)
	} else if given.High < 100 || given.MaxAgeMs > 0 {
		// As the kubelet begins it: neither limit, no loop.
		err = manager.GarbageCollect(ctx, now.Add(-milliseconds(given.StartedAgoMs)))
	}
	// That less went than was wanted is an error too.
	_ = err
	return runtime.removed
}

// What the image manager saw before this process was there.
func remember(manager images.ImageGCManager, all []caseImage, now time.Time) {
	field := reflect.ValueOf(manager).Elem().FieldByName("imageRecords")
	kept := field.Type().Elem().Elem()
	if kept.Size() != reflect.TypeFor[imageRecord]().Size() {
		log.Fatalf("the kubelet's record of an image has other fields: %v", kept)
	}
	records := reflect.MakeMap(field.Type())
	for _, image := range all {
		one := reflect.New(kept)
		seen := (*imageRecord)(one.UnsafePointer())
		seen.firstDetected = now.Add(-milliseconds(image.DetectedAgoMs))
		if image.UsedAgoMs != nil {
			seen.lastUsed = now.Add(-milliseconds(*image.UsedAgoMs))
		}
		records.SetMapIndex(reflect.ValueOf(image.ID), one)
	}
	reflect.NewAt(field.Type(), field.Addr().UnsafePointer()).Elem().Set(records)
}

// The parts of the container collector, which its package keeps to itself.

type podStateProvider interface {
	IsPodTerminationRequested(uid types.UID) bool
	ShouldPodContentBeRemoved(uid types.UID) bool
	ShouldPodRuntimeBeRemoved(uid types.UID) bool
}

//go:linkname newManager k8s.io/kubernetes/pkg/kubelet/kuberuntime.newFakeKubeRuntimeManager
func newManager(ctx context.Context, runtimeService internalapi.RuntimeService, imageService internalapi.ImageManagerService, machineInfo unsafe.Pointer, osInterface kubecontainer.OSInterface, runtimeHelper kubecontainer.RuntimeHelper, tracer trace.Tracer) (unsafe.Pointer, error)

//go:linkname newContainerGC k8s.io/kubernetes/pkg/kubelet/kuberuntime.newContainerGC
func newContainerGC(client internalapi.RuntimeService, pods podStateProvider, manager unsafe.Pointer, tracer trace.Tracer) unsafe.Pointer

//go:linkname garbageCollect k8s.io/kubernetes/pkg/kubelet/kuberuntime.(*containerGC).GarbageCollect
func garbageCollect(collector unsafe.Pointer, ctx context.Context, policy kubecontainer.GCPolicy, allSourcesReady bool, evictNonDeletedPods bool) error

type pods struct{ content, runtime map[types.UID]bool }

func (p pods) IsPodTerminationRequested(uid types.UID) bool { return p.content[uid] }
func (p pods) ShouldPodContentBeRemoved(uid types.UID) bool { return p.content[uid] }
func (p pods) ShouldPodRuntimeBeRemoved(uid types.UID) bool { return p.runtime[uid] }

func setOf(uids []string) map[types.UID]bool {
	set := map[types.UID]bool{}
	for _, uid := range uids {
		set[types.UID(uid)] = true
	}
	return set
}

// containerRuntime writes down what is removed.
type containerRuntime struct {
	*critest.FakeRuntimeService
	removed []string
}

func (r *containerRuntime) RemoveContainer(ctx context.Context, id string) error {
	r.removed = append(r.removed, id)
	return r.FakeRuntimeService.RemoveContainer(ctx, id)
}

func (r *containerRuntime) RemovePodSandbox(ctx context.Context, id string) error {
	r.removed = append(r.removed, id)
	return r.FakeRuntimeService.RemovePodSandbox(ctx, id)
}

var containerStates = map[string]runtimeapi.ContainerState{
	"running": runtimeapi.ContainerState_CONTAINER_RUNNING,
	"created": runtimeapi.ContainerState_CONTAINER_CREATED,
	"exited":  runtimeapi.ContainerState_CONTAINER_EXITED,
	"unknown": runtimeapi.ContainerState_CONTAINER_UNKNOWN,
}

func labelsOf(podUID, container string) map[string]string {
	return map[string]string{
		kubetypes.KubernetesPodNameLabel:       "pod",
		kubetypes.KubernetesPodNamespaceLabel:  "ns",
		kubetypes.KubernetesPodUIDLabel:        podUID,
		kubetypes.KubernetesContainerNameLabel: container,
	}
}

func (r *containerRuntime) fill(given *containerCase, now time.Time) {
	for _, one := range given.Sandboxes {
		state := runtimeapi.PodSandboxState_SANDBOX_NOTREADY
		if one.Ready {
			state = runtimeapi.PodSandboxState_SANDBOX_READY
		}
		r.Sandboxes[one.ID] = &critest.FakePodSandbox{PodSandboxStatus: runtimeapi.PodSandboxStatus{
			Id:        one.ID,
			Metadata:  &runtimeapi.PodSandboxMetadata{Name: "pod", Namespace: "ns", Uid: one.PodUID},
			State:     state,
			CreatedAt: now.Add(-milliseconds(one.CreatedAgoMs)).UnixNano(),
			Labels:    labelsOf(one.PodUID, "POD"),
		}}
	}
	for _, one := range given.Containers {
		r.Containers[one.ID] = &critest.FakeContainer{
			SandboxID: one.SandboxID,
			ContainerStatus: runtimeapi.ContainerStatus{
				Id:          one.ID,
				Metadata:    &runtimeapi.ContainerMetadata{Name: one.Name},
				State:       containerStates[one.State],
				CreatedAt:   now.Add(-milliseconds(one.CreatedAgoMs)).UnixNano(),
				Labels:      labelsOf(one.PodUID, one.Name),
				Annotations: map[string]string{},
			},
		}
	}
}

func containerPass(ctx context.Context, given *containerCase) []string {
	runtime := &containerRuntime{FakeRuntimeService: critest.NewFakeRuntimeService()}
	tracer := noop.NewTracerProvider().Tracer("")
	manager, err := newManager(
		ctx, runtime, critest.NewFakeImageService(), nil, &containertest.FakeOS{}, &containertest.FakeRuntimeHelper{}, tracer)
	if err != nil {
		log.Fatal(err)
	}
	runtime.fill(given, time.Now())
	known := pods{content: setOf(given.ContentRemovable), runtime: setOf(given.RuntimeRemovable)}
	policy := kubecontainer.GCPolicy{
		MinAge:             milliseconds(given.MinAgeMs),
		MaxPerPodContainer: given.MaxPerPod,
		MaxContainers:      given.MaxContainers,
	}
	collector := newContainerGC(runtime, known, manager, tracer)
	if err := garbageCollect(collector, ctx, policy, given.AllSourcesReady, given.Forced); err != nil {
		log.Fatal(err)
	}
	return runtime.removed
}

func passOf(ctx context.Context, given givenCase) []string {
	for {
		began := time.Now()
		var removed []string
		if given.Images != nil {
			removed = imagePass(ctx, given.Images)
		} else {
			removed = containerPass(ctx, given.Containers)
		}
		if time.Since(began) < mostPassTime {
			return removed
		}
	}
}

func main() {
	klog.LogToStderr(false)
	klog.SetOutput(discard{})
	ctx := context.Background()
	lines := bufio.NewScanner(os.Stdin)
	lines.Buffer(nil, 1<<20)
	out := json.NewEncoder(os.Stdout)
	for lines.Scan() {
		var given givenCase
		if err := json.Unmarshal(lines.Bytes(), &given); err != nil {
			log.Fatal(err)
		}
		removed := passOf(ctx, given)
		if removed == nil {
			removed = []string{}
		}
		if err := out.Encode(answer{Removed: removed}); err != nil {
			log.Fatal(err)
		}
	}
	if err := lines.Err(); err != nil {
		log.Fatal(err)
	}
}

type discard struct{}

func (discard) Write(text []byte) (int, error) { return len(text), nil }
