{{/* Where each runtime has its socket and its images, and the kubelet beside it who signed its certificate. */}}
{{- define "fleetgc.runtimes" -}}
containerd:
  socket: /run/containerd/containerd.sock
  socketDirectory: /run/containerd
  dataDirectory: /var/lib/containerd
  kubeletAuthority: /var/lib/kubelet/pki/kubelet.crt
k3s:
  socket: /run/k3s/containerd/containerd.sock
  socketDirectory: /run/k3s/containerd
  dataDirectory: /var/lib/rancher/k3s/agent/containerd
  kubeletAuthority: /var/lib/rancher/k3s/agent/server-ca.crt
rke2:
  socket: /run/k3s/containerd/containerd.sock
  socketDirectory: /run/k3s/containerd
  dataDirectory: /var/lib/rancher/rke2/agent/containerd
  kubeletAuthority: /var/lib/rancher/rke2/agent/server-ca.crt
crio:
  socket: /run/crio/crio.sock
  socketDirectory: /run/crio
  dataDirectory: /var/lib/containers
  kubeletAuthority: /var/lib/kubelet/pki/kubelet.crt
{{- end -}}

{{/* Of this release's nodes, as YAML. */}}
{{- define "fleetgc.runtime" -}}
{{- $known := include "fleetgc.runtimes" . | fromYaml -}}
{{- merge (dict) .Values.node.paths (get $known .Values.node.runtime) | toYaml -}}
{{- end -}}
